"""The engine in this process: what loads it, the thread that runs it, and the backend that shows it."""
