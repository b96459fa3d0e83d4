"""When a server is asked what, and the threads that do it."""
