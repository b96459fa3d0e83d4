"""Which tokens of a batch attend together, and how the work is shared among threads.

A single token of a sequence with few cells joins a *group* of such tokens, padded to one length that depends on their
own cells only. The tokens of all other sequences are cut into *spans*, each of one sequence. So no result depends on
what else is in the batch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct

from ..arrays import CellIds, Floats, as_slice
from ..interface import SequenceRun
from ..kv.store import TypedKvStore

__all__ = ["AttentionPlan", "Group", "Span", "plan_attention"]

GROUPED_CELLS = 512
"""Cells of a sequence up to which its single token joins a group."""
PADDING = 32
"""Lengths of groups are multiples of it."""
GROUP_FLOATS = 1 << 18
"""Values of K of a group at most: a megabyte, so that they stay in a core's cache."""
LEAST_SPAN_TOKENS, MOST_SPAN_TOKENS = 32, 128
LEAST_COST_TO_SHARE = 512
"""`Span.cost` for which a thread more is worth the hand-over."""


class Group(Struct, frozen=True):
    """One token each of B sequences.

    ``tokens``: [B] their places in the batch, a slice where they follow each other. ``rows``: [B, T] the rows of the KV
    store to read. ``mask``: [B, 1, 1, T] −inf where a row is padding, None where none is.
    """

    tokens: CellIds | slice
    rows: CellIds
    mask: Floats | None

    @property
    def shape(self) -> tuple[int, int]:
        """B, T."""
        n, length = self.rows.shape
        return n, length


class Span(Struct, frozen=True):
    """``n`` tokens of a sequence, from place ``begin`` of the batch on; the last of them sees ``n_cells`` cells.

    ``rows``: the rows of the KV store to read, a slice where they follow each other.
    """

    begin: int
    n: int
    n_cells: int
    rows: CellIds | slice

    @property
    def cost(self) -> int:
        """An estimate of the work, in cells to read: four more tokens cost as much as reading the cells once more."""
        return self.n_cells * (1 + self.n // 4)


class AttentionPlan(Struct, frozen=True):
    """What one batch needs, the same in all layers. ``spans``: a list for each thread that has some."""

    groups: Sequence[Group]
    spans: Sequence[list[Span]]


def plan_attention(runs: Sequence[SequenceRun], kv: TypedKvStore, n_threads: int) -> AttentionPlan:
    """Cut a batch into groups and spans and deal the spans out to at most ``n_threads`` threads."""
    spans: list[Span] = []
    short: defaultdict[int, list[tuple[int, CellIds]]] = defaultdict(list)
    begin = 0
    for run in runs:
        n_cells = len(run.cells)
        if len(run.tokens) == 1 and n_cells <= GROUPED_CELLS:
            short[-(-n_cells // PADDING) * PADDING].append((begin, kv.rows(run.stream, run.cells)))
        else:
            spans += _spans(run, begin, kv, n_threads)
        begin += len(run.tokens)
    width = kv.shape.n_head_kv * max(kv.shape.head_dim_k, kv.shape.head_dim_v)
    groups = [group for length, members in short.items() for group in _groups(length, members, width)]
    return AttentionPlan(groups, _deal(spans, n_threads))


def _spans(run: SequenceRun, begin: int, kv: TypedKvStore, n_threads: int) -> Iterator[Span]:
    """Cut a run into spans, one for each thread at least where it is long enough."""
    offset = run.stream * kv.n_cells
    n_held = len(run.cells) - len(run.tokens)
    step = min(MOST_SPAN_TOKENS, max(LEAST_SPAN_TOKENS, -(-len(run.tokens) // n_threads)))
    for first in range(0, len(run.tokens), step):
        n = min(step, len(run.tokens) - first)
        n_cells = n_held + first + n
        if run.start is None:
            yield Span(begin + first, n, n_cells, run.cells[:n_cells] + offset)
        else:
            yield Span(begin + first, n, n_cells, slice(offset + run.start, offset + run.start + n_cells))


def _groups(length: int, members: Sequence[tuple[int, CellIds]], width: int) -> Iterator[Group]:
    """Cut sequences of one padded length into groups."""
    size = max(1, GROUP_FLOATS // (length * width))
    for first in range(0, len(members), size):
        part = members[first : first + size]
        rows = np.empty((len(part), length), np.intp)
        for padded, (_, cells) in zip(rows, part, strict=True):
            padded[: len(cells)] = cells
            padded[len(cells) :] = cells[0]
        places = np.array([token for token, _ in part], np.intp)
        yield Group(as_slice(places), rows, _padding_mask([len(cells) for _, cells in part], length))


def _padding_mask(counts: Sequence[int], length: int) -> Floats | None:
    """What to add to scores: −inf beyond the ``counts`` of cells; None where all are ``length`` long."""
    if min(counts) == length:
        return None
    mask = np.where(np.arange(length) < np.array(counts)[:, None], np.float32(0), np.float32(-np.inf))
    return mask[:, None, None]


def _deal(spans: Sequence[Span], n_threads: int) -> Sequence[list[Span]]:
    """Deal spans out, the costliest first, each to the thread with the least to do."""
    n_shares = min(n_threads, sum(span.cost for span in spans) // LEAST_COST_TO_SHARE)
    if n_shares < 2:
        return [list(spans)] if spans else []
    shares: list[list[Span]] = [[] for _ in range(n_shares)]
    costs = [0] * n_shares
    for span in sorted(spans, key=lambda span: -span.cost):
        least = costs.index(min(costs))
        shares[least].append(span)
        costs[least] += span.cost
    return [share for share in shares if share]
