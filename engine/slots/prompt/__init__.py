"""How a prompt gets into its slot: what can be reused, and the rest (spec §6.4, §6.5)."""
