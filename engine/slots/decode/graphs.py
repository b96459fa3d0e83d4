"""How often llama.cpp would compute a micro-batch with the graph of the one before, as its log tells (spec §9.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..kv.cache import KvCache
from .batch import Part

__all__ = ["Graphs"]

Shape = tuple[object, int, int, int]
"""What two micro-batches must have in common: the sequences (in one pool, how many), tokens, rows of logits, and cells
that attention runs over."""
PROBE = 2  # tokens of sequence 0 that the server decodes when it starts, to see what its cache can do


class Graphs:
    """``reused``: how often so far, ``begin`` times before anything was asked."""

    def __init__(self, cache: KvCache, begin: int) -> None:
        self.reused = begin
        self._cache = cache
        self._last: Shape | None = (1 if cache.unified else (0,), PROBE, 1, cache.streams[0].width)
        self._seen: tuple[object, list[int]] = (None, [])
        self._shapes: list[Shape] = []

    def count(self, parts: Sequence[Part]) -> None:
        """Count the micro-batches of parts that have just been placed."""
        wants = [(slot.id, n, wants_logits) for slot, _, n, wants_logits, _ in parts]
        if (wants, self._cache.widths) != self._seen:
            self._seen = wants, self._cache.widths
            self._shapes = list(self._shapes_of(wants))
        if self._cache.is_changed:  # moved or copied cells are seen to first, by a graph of their own
            self._cache.is_changed, self._last = False, None
        for shape in self._shapes:
            self.reused += shape == self._last
            self._last = shape

    def _shapes_of(self, wants: Sequence[tuple[int, int, bool]]) -> Iterator[Shape]:
        """The shape of each micro-batch."""
        left = {index: n for index, n, _ in wants}
        asking = {index for index, _, wants_logits in wants if wants_logits}
        widths = iter(self._cache.widths)
        for group in self._cache.cut([(index, n) for index, n, _ in wants]):
            for index, n in group:
                left[index] -= n
            n_outputs = sum(not left[index] and index in asking for index, _ in group)
            sequences = len(group) if self._cache.unified else tuple(index for index, _ in group)
            width = next(widths) if self._cache.unified else max(next(widths) for _ in group)
            yield sequences, sum(n for _, n in group), n_outputs, width
