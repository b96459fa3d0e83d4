"""A llama-server elsewhere: polite polling, one tolerant reader, and the backend over them."""
