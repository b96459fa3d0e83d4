"""K and V of all cells, in the bytes of their types (spec §3.1)."""
