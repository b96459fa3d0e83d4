"""Threads that share the arithmetic of one step."""
