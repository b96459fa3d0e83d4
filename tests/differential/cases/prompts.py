"""Prompts of an exact length, and values of many types."""

from __future__ import annotations

from random import Random
from typing import Any

__all__ = ["each", "tokens"]

FIRST, LAST = 300, 900  # ordinary words of the bundled vocabulary


def tokens(count: int, seed: int = 0) -> list[int]:
    """That many ids; the same seed gives the same beginning."""
    chosen = Random(seed)
    return [chosen.randint(FIRST, LAST) for _ in range(count)]


def each(*values: Any) -> tuple[Any, ...]:
    """Values of any JSON type, to try one after the other."""
    return values
