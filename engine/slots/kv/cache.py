"""Which cell holds which token of which sequence: bookkeeping over the model's KV store (spec §3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from slotview.engine.context import ContextPlan
from slotview.engine.context.kv_size import KvShape, kv_bytes
from slotview.engine.model.interface import CellIds, KvStore, Model

from ..decode.ubatch import Group, equal_parts, micro_batches
from .sequence import HOLE, CellSequence
from .stream import CellStream

__all__ = ["KvCache"]

Taken = tuple[CellStream, CellIds | list[int], int]


class KvCache:
    """Sequence i belongs to slot i. One stream for all (unified) or one for each (split).

    ``widths``: of the last decode call placed, the width of the stream after each micro-batch (unified), or after each
    sequence's part of one (split). ``is_changed``: cells have been moved or copied; whoever heeds it takes it back.
    """

    def __init__(self, plan: ContextPlan, store: KvStore, shape: KvShape) -> None:
        self.store = store
        self.cell_bytes = kv_bytes(shape, 1, store.type_k, store.type_v)
        self._head_bytes = 8 + 4 + 4 * plan.n_stream + 16 + 24 * shape.n_layer
        self.unified = plan.unified
        self._n_ubatch = plan.n_ubatch
        self.widths = list[int]()
        self.is_changed = False
        self.streams = tuple(CellStream(i, plan.n_ctx_seq) for i in range(plan.n_stream))
        capacity = min(plan.n_ctx_seq, plan.slot_n_ctx)
        self.sequences = tuple(
            CellSequence(self.streams[0 if plan.unified else i], capacity) for i in range(plan.n_slots)
        )

    # Finding room ----------------------------------------------------------------------------------------------

    def cut(self, wants: Sequence[tuple[int, int]]) -> Iterator[Group]:
        """The micro-batches of a decode call."""
        return (micro_batches if self.unified else equal_parts)(wants, self._n_ubatch)

    def place(self, wants: Sequence[tuple[int, int]]) -> bool:
        """Give each (sequence, n tokens) of one decode call its cells, or change nothing and return False."""
        self.widths = []
        if self.unified:
            return self._place_unified(wants)
        if all(n == 1 for _, n in wants):
            return self._place_singles(wants)
        return self._place_split(wants)

    def _place_unified(self, wants: Sequence[tuple[int, int]]) -> bool:
        """Take cells of the one stream for all, micro-batch by micro-batch."""
        stream = self.streams[0]
        total = sum(n for _, n in wants)
        if total == 0:
            return True
        head, parts = stream.head, list[CellIds]()
        for done in range(0, total, self._n_ubatch):
            cells = stream.take(min(self._n_ubatch, total - done))
            if cells is None:
                self._undo([(stream, part, head) for part in parts])
                return False
            parts.append(cells)
            self.widths.append(stream.width)
        self._deal(wants, parts[0] if len(parts) == 1 else np.concatenate(parts))
        return True

    def _deal(self, wants: Sequence[tuple[int, int]], cells: CellIds) -> None:
        """Give each sequence its part of ``cells``, in order."""
        sequences, at = self.sequences, 0
        singles: list[int] = cells.tolist() if len(cells) <= 2 * len(wants) else []
        for index, n in wants:
            if n == 1:
                sequences[index].append_one(singles[at] if singles else int(cells[at]))
            else:
                sequences[index].append(cells[at : at + n])
            at += n

    def _place_singles(self, wants: Sequence[tuple[int, int]]) -> bool:
        """One token for each of several streams: the usual step of generation in split mode."""
        taken = list[Taken]()
        for index, _ in wants:
            sequence = self.sequences[index]
            stream = sequence.stream
            head = stream.head
            cell = stream.take_one()
            if cell < 0:
                self._undo(taken)
                for done, _ in wants[: len(taken)]:
                    self.sequences[done].cut(self.sequences[done].n - 1)
                return False
            sequence.append_one(cell)
            self.widths.append(stream.width)
            taken.append((stream, [cell], head))
        return True

    def _place_split(self, wants: Sequence[tuple[int, int]]) -> bool:
        """Take cells of each sequence's own stream, in the order of llama.cpp's micro-batches."""
        taken, given = list[Taken](), list[tuple[int, CellIds]]()
        for index, n in (part for group in self.cut(wants) for part in group):
            stream = self.sequences[index].stream
            head = stream.head
            cells = stream.take(n)
            if cells is None:
                self._undo(taken)
                return False
            self.widths.append(stream.width)
            taken.append((stream, cells, head))
            given.append((index, cells))
        for index, cells in given:
            self.sequences[index].append(cells)
        return True

    @staticmethod
    def _undo(taken: Iterable[Taken]) -> None:
        for stream, cells, head in reversed(list(taken)):
            stream.give_back(cells, head)

    # Sequence operations (spec §3.4) ---------------------------------------------------------------------------

    def remove(self, index: int, first: int = 0, end: int = -1) -> None:
        """Drop positions ``first`` … ``end``−1 of a sequence; ``end`` −1 = all that follow."""
        sequence = self.sequences[index]
        stop = sequence.n if end < 0 else min(end, sequence.n)
        if first == 0:
            sequence.n_missing = 0
        if first >= stop:
            return
        gone = sequence.cells[first:stop]
        sequence.stream.release(gone[gone != HOLE].copy())
        if stop == sequence.n:
            sequence.cut(first)
        else:
            sequence.cells[first:stop] = HOLE
            sequence.measure()

    def move(self, index: int, first: int, end: int, delta: int) -> bool:
        """Add ``delta`` (below 0) to positions ``first`` … ``end``−1; the places they move to must be free.

        Cells that another sequence shares are copied first. Returns False where no cell is free for that.
        """
        sequence = self.sequences[index]
        end = min(end, sequence.n)
        if first >= end or delta == 0:
            return True
        if not self._unshare(sequence, first, end):
            return False
        block = sequence.cells[first:end].copy()
        sequence.cells[first:end] = HOLE
        sequence.cells[first + delta : end + delta] = block
        if end == sequence.n:
            sequence.n = end + delta
        sequence.stream.shift[block] += delta
        sequence.stream.is_shifted = self.is_changed = True
        sequence.stream.head = 0
        sequence.measure()
        return True

    def _unshare(self, sequence: CellSequence, first: int, end: int) -> bool:
        """Copy the cells of these positions that other sequences use too; False where no cell is free for that."""
        stream = sequence.stream
        block = sequence.cells[first:end]
        places = np.flatnonzero(stream.counts[block] > 1)
        if not len(places):
            return True
        shared = block[places]
        own = stream.take(len(shared))
        if own is None:
            return False
        self.store.write(stream.index, own, self.store.read(stream.index, shared))
        stream.shift[own] = stream.shift[shared]
        stream.release(shared)
        block[places] = own
        return True

    def copy(self, source: int, target: int) -> None:
        """Let ``target`` hold what ``source`` holds: shared cells in one stream, a copied stream otherwise."""
        self.remove(target)
        a, b = self.sequences[source], self.sequences[target]
        cells = a.cells[: a.n]
        if a.stream is b.stream:
            a.stream.share(cells)
        else:
            self.store.copy_stream(a.stream.index, b.stream.index)
            b.stream.mirror(a.stream, cells)
            self.is_changed = True
        b.append(cells)

    def apply_shifts(self, model: Model) -> None:
        """Rotate the stored K by what `move` has left due."""
        rows: list[NDArray[np.intp]] = []
        deltas: list[NDArray[np.int32]] = []
        for stream in self.streams:
            if stream.is_shifted:
                cells = np.flatnonzero(stream.shift)
                rows.append(cells + stream.index * stream.size)
                deltas.append(stream.shift[cells])
                stream.shift[cells] = 0
                stream.is_shifted = False
        if rows:
            model.shift(self.store, np.concatenate(rows), np.concatenate(deltas))

    # State of one sequence -------------------------------------------------------------------------------------

    def read(self, index: int) -> tuple[NDArray[np.intp], bytes]:
        """Positions of a sequence in cell order, and its K and V in that order (spec §7.5)."""
        sequence = self.sequences[index]
        cells = sequence.cells[: sequence.n]
        order = np.argsort(cells)
        return order, self.store.read(sequence.stream.index, cells[order])

    def write(self, index: int, positions: NDArray[np.intp], data: bytes | memoryview) -> int | None:
        """Replace a sequence by a stored one. Returns the bytes used, or None when there is no room.

        Raises `ValueError` when the data do not fit this store. In both cases the sequence is empty afterwards.
        """
        self.remove(index)
        n = len(positions)
        if n == 0:
            return self.store.write(self.sequences[index].stream.index, np.empty(0, np.intp), data)
        sequence = self.sequences[index]
        cells = sequence.stream.take(n)
        if cells is None:
            return None
        try:
            used = self.store.write(sequence.stream.index, cells, data)
        except ValueError:
            sequence.stream.release(cells)
            raise
        sequence.cells[positions] = cells
        sequence.n = n
        sequence.measure()
        return used

    def state_bytes(self, index: int) -> int:
        """Bytes of a sequence's state, as the prompt store counts them (spec §5.3, §7.5)."""
        return self._head_bytes + self.sequences[index].n * (12 + self.cell_bytes)

    # Invariants ------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Assert that every used cell belongs to exactly the sequences that list it."""
        for stream in self.streams:
            counts = np.zeros(stream.size, np.int64)
            for sequence in self.sequences:
                if sequence.stream is stream:
                    cells = sequence.cells[: sequence.n]
                    assert len(np.unique(cells)) == sequence.n, "a sequence lists a cell twice"
                    assert not sequence.n or cells.min() >= 0, "a sequence has a hole"
                    counts[cells] += 1
            assert np.array_equal(counts, stream.counts), f"stream {stream.index}: cells lost or owned twice"
            assert stream.used == np.count_nonzero(counts), f"stream {stream.index}: wrong number of used cells"
