"""The routes, and the layers around them (spec §7)."""
