"""A server elsewhere."""
