"""The HTTP face, wire-compatible with llama-server."""
