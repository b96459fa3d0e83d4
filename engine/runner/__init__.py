"""A llama-server as our child."""
