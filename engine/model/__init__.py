"""Tokens in, logits out."""
