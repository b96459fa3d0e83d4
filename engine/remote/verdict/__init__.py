"""Whether a server works, and what to do if not."""
