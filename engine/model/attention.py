"""Attention of new tokens over the cells of their own sequences, read from the KV store.

Shapes: N = tokens of the batch, H = query heads, J = KV heads, G = H / J, D = head dimension, B = sequences of a group,
T = cells. Single tokens of sequences with few cells are computed together, padded to a length that depends on nothing
but the sequence's own; all others run by run. So no result depends on what else is in the batch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .interface import SequenceRun
from .kv_store import KvTensor, TypedKvStore
from .kv_types_float import Floats
from .workspace import Workspace

__all__ = ["AttentionPlan", "attend", "plan_attention"]

CellIds = NDArray[np.intp]
GROUPED_CELLS = 512
PADDING = 32
GROUP_FLOATS = 1 << 18
SCORE_FLOATS = 1 << 20
FEWEST_QUERIES = 16


@dataclass(frozen=True, slots=True)
class Group:
    """One token each of B sequences. ``tokens``: [B] places in the batch; ``rows``: [B, T]; ``mask``: [B, 1, 1, T]."""

    tokens: CellIds
    rows: CellIds
    mask: Floats | None


@dataclass(frozen=True, slots=True)
class Span:
    """A run of n tokens from ``begin``, the last of T cells; ``rows`` a slice where they follow each other."""

    begin: int
    n: int
    n_cells: int
    rows: CellIds | slice


@dataclass(frozen=True, slots=True)
class AttentionPlan:
    """What one batch needs, the same in all layers."""

    groups: Sequence[Group]
    spans: Sequence[Span]


def plan_attention(runs: Sequence[SequenceRun], kv: TypedKvStore) -> AttentionPlan:
    """Sort the runs of a batch into groups and spans."""
    spans: list[Span] = []
    short: defaultdict[int, list[tuple[int, CellIds]]] = defaultdict(list)
    begin = 0
    for run in runs:
        n = len(run.tokens)
        n_cells = run.first_pos + n
        if n == 1 and n_cells <= GROUPED_CELLS:
            short[-(-n_cells // PADDING) * PADDING].append((begin, kv.rows(run.stream, run.cells)))
        else:
            spans.append(Span(begin, n, n_cells, _span_rows(run, n_cells, kv)))
        begin += n
    width = kv.shape.n_head_kv * max(kv.shape.head_dim_k, kv.shape.head_dim_v)
    groups = [group for length, members in short.items() for group in _groups(length, members, width)]
    return AttentionPlan(groups, spans)


def _span_rows(run: SequenceRun, n_cells: int, kv: TypedKvStore) -> CellIds | slice:
    if run.start is None:
        return kv.rows(run.stream, run.cells)
    first = run.stream * kv.n_cells + run.start
    return slice(first, first + n_cells)


def _groups(length: int, members: Sequence[tuple[int, CellIds]], width: int) -> Iterator[Group]:
    """Cut sequences of one padded length into groups whose K fits a cache."""
    size = max(1, GROUP_FLOATS // (length * width))
    for first in range(0, len(members), size):
        part = members[first : first + size]
        tokens = np.array([token for token, _ in part], np.intp)
        rows = np.empty((len(part), length), np.intp)
        for padded, (_, cells) in zip(rows, part, strict=True):
            padded[: len(cells)] = cells
            padded[len(cells) :] = cells[0]
        counts = np.array([len(cells) for _, cells in part])
        yield Group(tokens, rows, _padding_mask(counts, length))


def _padding_mask(counts: NDArray[np.integer], length: int) -> Floats | None:
    if (counts == length).all():
        return None
    mask = np.where(np.arange(length) < counts[:, None], np.float32(0), np.float32(-np.inf))
    return mask[:, None, None]


def attend(q: Floats, plan: AttentionPlan, layer: int, kv: TypedKvStore, out: Floats, work: Workspace) -> None:
    """q [N, H × D], scaled and rotated as K is, to out [N, H × Dv], still rotated as V is."""
    for group in plan.groups:
        _attend_group(q, group, layer, kv, out, work)
    for span in plan.spans:
        _attend_span(q, span, layer, kv, out, work)


def _attend_group(q: Floats, group: Group, layer: int, kv: TypedKvStore, out: Floats, work: Workspace) -> None:
    n, length = group.rows.shape
    n_kv = kv.shape.n_head_kv
    keys = _widened(kv.k, layer, group.rows, work).reshape(n, length, n_kv, -1)
    queries = q[group.tokens].reshape(n, n_kv, -1, kv.shape.head_dim_k)
    scores = work.floats("scores", n, n_kv, queries.shape[2], length)
    np.matmul(queries, keys.transpose(0, 2, 3, 1), out=scores)
    if group.mask is not None:
        np.add(scores, group.mask, out=scores)
    total = _exponentials(scores)
    values = _widened(kv.v, layer, group.rows, work).reshape(n, length, n_kv, -1)
    mixed = np.matmul(scores, values.transpose(0, 2, 1, 3))
    mixed /= total
    out[group.tokens] = mixed.reshape(n, -1)


def _attend_span(q: Floats, span: Span, layer: int, kv: TypedKvStore, out: Floats, work: Workspace) -> None:
    n_kv, n_queries = kv.shape.n_head_kv, q.shape[1] // kv.shape.head_dim_k
    keys = _widened(kv.k, layer, span.rows, work, "k").reshape(span.n_cells, n_kv, 1, -1).transpose(1, 2, 3, 0)
    values = _widened(kv.v, layer, span.rows, work, "v").reshape(span.n_cells, n_kv, 1, -1).transpose(1, 2, 0, 3)
    step = max(FEWEST_QUERIES, SCORE_FLOATS // (n_queries * span.n_cells))
    for first in range(0, span.n, step):
        n = min(step, span.n - first)
        seen = span.n_cells - span.n + first + n
        queries = _by_head(q[span.begin + first :][:n], n_kv, kv.shape.head_dim_k)
        mixed = _by_head(out[span.begin + first :][:n], n_kv, kv.shape.head_dim_v)
        scores = work.floats("scores", *queries.shape[:3], seen)
        np.matmul(queries, keys[..., :seen], out=scores)
        if n > 1:
            scores[..., seen - n :] += _causal_mask(n)
        total = _exponentials(scores)
        np.matmul(scores, values[:, :, :seen], out=mixed)
        mixed /= total


def _by_head(rows: Floats, n_kv: int, head_dim: int) -> Floats:
    """View rows [n, H × D] as [J, G, n, D]; a single row as [J, 1, G, D], so that one product serves all G heads."""
    n = len(rows)
    heads = rows.reshape(n, n_kv, -1, head_dim)
    return heads.transpose(1, 0, 2, 3) if n == 1 else heads.transpose(1, 2, 0, 3)


def _causal_mask(n: int) -> Floats:
    return np.triu(np.full((n, n), -np.inf, np.float32), 1)


def _exponentials(scores: Floats) -> Floats:
    """Replace scores [..., T] by exp(score - highest) and return their sums [..., 1]."""
    np.subtract(scores, scores.max(axis=-1, keepdims=True), out=scores)
    np.exp(scores, out=scores)
    total: Floats = scores.sum(axis=-1, keepdims=True)
    return total


def _widened(tensor: KvTensor, layer: int, rows: CellIds | slice, work: Workspace, name: str = "kv") -> Floats:
    """Values [T, J × D] of rows, in scratch memory."""
    items = tensor.items[layer]
    if isinstance(rows, slice):
        stored = items[rows]
    else:
        stored = work.items("gathered", items.dtype, rows.size, items.shape[1])
        np.take(items, rows.reshape(-1), axis=0, out=stored, mode="clip")
    out = work.floats(name, len(stored), tensor.n_head * tensor.head_dim)
    tensor.kind.decode(stored, out)
    return out
