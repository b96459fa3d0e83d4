"""What is known about a server, and how each answer changes it."""
