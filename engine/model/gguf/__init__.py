"""What a model file holds: its head, its numbers, its weights."""
