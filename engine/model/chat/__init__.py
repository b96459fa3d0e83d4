"""Chat templates of model files (spec §7.10)."""
