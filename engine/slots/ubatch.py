"""How a decode call is cut into micro-batches in split mode (spec §3.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

__all__ = ["equal_parts"]


def equal_parts(wants: Sequence[tuple[int, int]], n_ubatch: int) -> Iterator[tuple[int, int]]:
    """Yield (sequence, n tokens) in the order the parts are placed.

    A micro-batch holds the same number of tokens for each of its sequences, whose ids are neighbours and increasing.
    """
    left = [[index, n] for index, n in wants]
    while left:
        group = _neighbours(left, n_ubatch)
        n = min(*(n for _, n in group), max(1, n_ubatch // len(group)))
        for want in group:
            yield want[0], n
            want[1] -= n
        left = [want for want in left if want[1]]


def _neighbours(left: list[list[int]], limit: int) -> list[list[int]]:
    group = left[:1]
    for want in left[1:]:
        if len(group) > limit:
            break
        if want[0] == group[-1][0] + 1:
            group.append(want)
    return group
