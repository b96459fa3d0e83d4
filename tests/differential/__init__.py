"""What llama-server answers and what `slotview serve` answers, compared field by field."""
