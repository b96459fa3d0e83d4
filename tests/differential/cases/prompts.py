"""Prompts of an exact length."""

from __future__ import annotations

from random import Random

__all__ = ["tokens"]

FIRST, LAST = 300, 900  # ordinary words of the bundled vocabulary


def tokens(count: int, seed: int = 0) -> list[int]:
    """That many ids; the same seed gives the same beginning."""
    chosen = Random(seed)
    return [chosen.randint(FIRST, LAST) for _ in range(count)]
