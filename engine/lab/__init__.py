"""Experiments in virtual time."""
