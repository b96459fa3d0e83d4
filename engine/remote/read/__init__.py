"""Readers of everything that servers have answered since February 2024 (spec §10)."""
