"""A llama-server elsewhere: polite polling, tolerant readers, and the backend on top of them."""
