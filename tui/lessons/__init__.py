"""Scripted lessons."""
