"""One stream of KV cells: which are taken, and where the next search begins (spec §3.2)."""

from __future__ import annotations

from array import array

import numpy as np
from numpy.typing import NDArray

from slotview.engine.model.interface import CellIds

__all__ = ["CellStream"]

STEP = 256  # cells by which the width grows


class CellStream:
    """``counts`` [size]: how many sequences use each cell. ``shift`` [size]: the rotation of its K that is due.

    ``width``: the cells from the first on that llama.cpp's attention runs over, used or not.
    """

    __slots__ = ("_count", "counts", "head", "index", "is_shifted", "shift", "size", "used", "width")

    def __init__(self, index: int, size: int) -> None:
        self.index = index
        self.size = size
        self.head = 0
        self.used = 0
        self._count = array("H", bytes(2 * size))
        self.counts: NDArray[np.uint16] = np.frombuffer(self._count, dtype=np.uint16)
        self.shift = np.zeros(size, np.int32)
        self.is_shifted = False
        self.width = _padded(0, size)

    def take_one(self) -> int:
        """Take one free cell and return it, or −1."""
        if self.used >= self.size:
            return -1
        at = 0 if self.head > self.used + 2 or self.head >= self.size else self.head
        if self._count[at]:
            at = int(self._find(1, at)[0])
        self._count[at] = 1
        self.used += 1
        self.head = at + 1
        if at >= self.width:
            self.width = _padded(at + 1, self.size)
        return at

    def take(self, n: int) -> CellIds | None:
        """Take ``n`` free cells in the order they are met from the head on; None when there are too few."""
        if n > self.size - self.used:
            return None
        start = 0 if self.head > self.used + 2 * n or self.head >= self.size else self.head
        cells = self._find(n, start)
        self.counts[cells] = 1
        self.used += n
        self.head = int(cells[-1]) + 1
        self.width = max(self.width, _padded(int(cells.max()) + 1, self.size))
        return cells

    def _find(self, n: int, start: int) -> CellIds:
        ahead = self.counts[start : start + n]
        if len(ahead) == n and not ahead.any():
            return np.arange(start, start + n, dtype=np.intp)
        free = np.flatnonzero(self.counts == 0)
        split = int(np.searchsorted(free, start))
        return np.concatenate((free[split:], free[:split]))[:n]

    def share(self, cells: CellIds) -> None:
        """Let one more sequence use ``cells``."""
        self.counts[cells] += 1

    def release(self, cells: CellIds) -> None:
        """Take one user from each cell; the head moves down to the first cell that became empty."""
        if not len(cells):
            return
        self.counts[cells] -= 1
        freed = cells[self.counts[cells] == 0]
        if not len(freed):
            return
        self.used -= len(freed)
        self.shift[freed] = 0
        self.head = min(self.head, int(freed.min()))
        self._measure()

    def give_back(self, cells: CellIds | list[int], head: int) -> None:
        """Undo a `take`."""
        self.counts[cells] = 0
        self.used -= len(cells)
        self.head = head
        self._measure()

    def _measure(self) -> None:
        """Find the width anew after cells have become empty."""
        used = np.flatnonzero(self.counts[: self.width])
        self.width = _padded(int(used[-1]) + 1 if len(used) else 0, self.size)

    def mirror(self, other: CellStream, cells: CellIds) -> None:
        """Become a copy of ``other`` in which only ``cells`` are used, by one sequence."""
        self.counts[:] = 0
        self.counts[cells] = 1
        self.shift[:] = 0
        self.shift[cells] = other.shift[cells]
        self.is_shifted = other.is_shifted
        self.used = len(cells)
        self.head = other.head
        self.width = self.size
        self._measure()


def _padded(n: int, size: int) -> int:
    return min(size, max(STEP, -(-n // STEP) * STEP))
