"""A number with its noun."""

from __future__ import annotations

__all__ = ["plural"]


def plural(number: int, noun: str) -> str:
    """``1 slot``, ``2 slots``, ``51 200 slots``."""
    counted = f"{number:,} {noun}".replace(",", " ")
    return counted if number == 1 else f"{counted}s"
