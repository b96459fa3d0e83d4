"""Small helpers for text that people will read."""
