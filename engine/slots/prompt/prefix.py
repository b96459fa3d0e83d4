"""How far two token lists agree."""

from __future__ import annotations

from slotview.engine.model.interface import TokenIds

__all__ = ["common_prefix"]


def common_prefix(a: TokenIds, b: TokenIds) -> int:
    """Number of equal tokens at the beginning of both."""
    n = min(len(a), len(b))
    if n == 0 or a[0] != b[0]:
        return 0
    differs = a[:n] != b[:n]
    first = int(differs.argmax())
    return first if differs[first] else n
