"""How a decode call is cut into micro-batches (spec §3.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

__all__ = ["Group", "equal_parts", "micro_batches"]

Group = list[tuple[int, int]]
"""The sequences of one micro-batch, each with its number of tokens."""


def micro_batches(wants: Sequence[tuple[int, int]], n_ubatch: int) -> Iterator[Group]:
    """Cut a batch for one pool: so many tokens after the other, of whatever sequence."""
    group, room = Group(), n_ubatch
    for index, n in wants:
        left = n
        while left:
            taken = min(left, room)
            group.append((index, taken))
            left, room = left - taken, room - taken
            if not room:
                yield group
                group, room = Group(), n_ubatch
    if group:
        yield group


def equal_parts(wants: Sequence[tuple[int, int]], n_ubatch: int) -> Iterator[Group]:
    """Cut a batch for a pool of each sequence's own.

    A micro-batch holds the same number of tokens for each of its sequences, whose ids are neighbours and increasing.
    """
    left = [[index, n] for index, n in wants]
    while left:
        group = _neighbours(left, n_ubatch)
        n = min(*(n for _, n in group), max(1, n_ubatch // len(group)))
        yield [(want[0], n) for want in group]
        for want in group:
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
