"""One sequence's cells in position order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slotview.engine.model.interface import CellIds

from .stream import CellStream

__all__ = ["HOLE", "CellSequence"]

HOLE = -1


class CellSequence:
    """``cells[:n]`` are the cells of positions 0 … n−1; `HOLE` only while chunks are being moved (spec §6.5).

    Where ``n_missing`` is above 0, they are those of as many positions later, behind a prompt that is not held.
    ``_run`` is how many of the first positions lie in ascending neighbouring cells.
    """

    __slots__ = ("_base", "_run", "cells", "n", "n_missing", "stream")

    def __init__(self, stream: CellStream, capacity: int) -> None:
        self.stream = stream
        self.cells: CellIds = np.empty(capacity, np.intp)
        self.n = 0
        self.n_missing = 0
        self._run = 0
        self._base = 0

    @property
    def end(self) -> int:
        """The position that follows."""
        return self.n_missing + self.n

    @property
    def start(self) -> int | None:
        """First cell where all cells lie in one ascending run, else None."""
        return self._base if self._run == self.n and self.n else None

    def skip_to(self, position: int) -> None:
        """Let a sequence that holds nothing begin later than at 0."""
        if self.n == 0:
            self.n_missing = position

    def append_one(self, cell: int) -> None:
        """Add the next position's cell."""
        n = self.n
        self.cells[n] = cell
        if n == 0:
            self._base = cell
        if self._run == n and cell == self._base + n:
            self._run = n + 1
        self.n = n + 1

    def append(self, cells: CellIds | Sequence[int]) -> None:
        """Add the next positions' cells."""
        first, self.n = self.n, self.n + len(cells)
        self.cells[first : self.n] = cells
        if self._run == first:
            self._measure(first)

    def cut(self, n: int) -> None:
        """Forget positions from ``n`` on."""
        self.n = n
        self._run = min(self._run, n)

    def measure(self) -> None:
        """Find anew how far the run of neighbouring cells goes."""
        self._run = 0
        self._measure(0)

    def _measure(self, first: int) -> None:
        if self.n == 0:
            return
        if first == 0:
            self._base = int(self.cells[0])
        strays = self.cells[first : self.n] != np.arange(self._base + first, self._base + self.n)
        at = int(strays.argmax())
        self._run = first + at if strays[at] else self.n
