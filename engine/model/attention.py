"""Attention of new tokens over the cells of their own sequences, read from the KV store.

Shapes: N = tokens of the batch, H = query heads, J = KV heads, G = H / J, D = head dimension, B = sequences of a group,
T = cells. K and V come out of the store divided by the ``scale`` of their type; q and the weights make up for it.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from .attention_plan import AttentionPlan, Group, Span
from .crew import Crew
from .kv_store import KvTensor, TypedKvStore
from .kv_types_float import Floats
from .workspace import Workspace

__all__ = ["Attention"]

CellIds = NDArray[np.intp]
LEAST_TO_SHARE = 1 << 16
"""Values of K of a group from which on its V is widened by another thread at the same time."""


class Attention:
    """Attention with the threads of a crew; it owns the scratch memory."""

    def __init__(self, crew: Crew) -> None:
        self._crew = crew
        self._work = [Workspace() for _ in range(crew.size)]

    def attend(self, plan: AttentionPlan, layer: int, kv: TypedKvStore, q: Floats, out: Floats) -> None:
        """q [N, H × D], scaled and rotated as K is, to out [N, H × Dv], still rotated as V is."""
        for group in plan.groups:
            self._attend_group(group, layer, kv, q, out)
        if plan.spans:
            pairs = zip(plan.spans, self._work, strict=False)
            self._crew.run([partial(_attend_spans, spans, layer, kv, q, out, work) for spans, work in pairs])

    def _attend_group(self, group: Group, layer: int, kv: TypedKvStore, q: Floats, out: Floats) -> None:
        n, length = group.shape
        n_kv = kv.shape.n_head_kv
        mine, other = self._work[0], self._work[-1]
        values = other.floats("v", n, length, n_kv, kv.shape.head_dim_v)
        queries = q[group.tokens].reshape(n, n_kv, -1, kv.shape.head_dim_k)
        scores = mine.floats("scores", n, n_kv, queries.shape[2], length)
        total = mine.floats("total", n, n_kv, queries.shape[2], 1)
        tasks = [
            partial(_weigh, group, layer, kv, queries, scores, total, mine),
            partial(_widen, kv.v, layer, group.rows, values, other),
        ]
        if len(self._work) > 1 and values.size >= LEAST_TO_SHARE:
            self._crew.run(tasks)
        else:
            for task in tasks:
                task()
        mixed = mine.floats("mixed", n, n_kv, queries.shape[2], kv.shape.head_dim_v)
        np.matmul(scores, values.transpose(0, 2, 1, 3), out=mixed)
        np.divide(mixed, total, out=mixed)
        out[group.tokens] = mixed.reshape(n, -1)


def _weigh(
    group: Group, layer: int, kv: TypedKvStore, queries: Floats, scores: Floats, total: Floats, work: Workspace
) -> None:
    """Weights of a group's cells in scores [B, J, G, T], their sums in total [B, J, G, 1]."""
    keys = work.floats("k", *group.shape, kv.shape.n_head_kv, kv.shape.head_dim_k)
    _widen(kv.k, layer, group.rows, keys, work)
    queries *= kv.k.kind.scale
    np.matmul(queries, keys.transpose(0, 2, 3, 1), out=scores)
    if group.mask is not None:
        np.add(scores, group.mask, out=scores)
    _exponentials(scores, total, kv.v.kind.scale)


def _attend_spans(spans: list[Span], layer: int, kv: TypedKvStore, q: Floats, out: Floats, work: Workspace) -> None:
    for span in spans:
        _attend_span(span, layer, kv, q, out, work)


def _attend_span(span: Span, layer: int, kv: TypedKvStore, q: Floats, out: Floats, work: Workspace) -> None:
    n_kv, place = kv.shape.n_head_kv, slice(span.begin, span.begin + span.n)
    queries = _by_head(q[place] * kv.k.kind.scale, n_kv, kv.shape.head_dim_k)
    mixed = _by_head(out[place], n_kv, kv.shape.head_dim_v)
    keys = work.floats("k", span.n_cells, n_kv, kv.shape.head_dim_k)
    values = work.floats("v", span.n_cells, n_kv, kv.shape.head_dim_v)
    _widen(kv.k, layer, span.rows, keys, work)
    _widen(kv.v, layer, span.rows, values, work)
    scores = work.floats("scores", *queries.shape[1:3], span.n_cells)
    total = work.floats("total", *queries.shape[1:3], 1)
    for head in range(n_kv):
        np.matmul(queries[head], keys[:, head].T, out=scores)
        if span.n > 1:
            scores[..., span.n_cells - span.n :] += _causal_mask(span.n)
        _exponentials(scores, total, kv.v.kind.scale)
        np.matmul(scores, values[:, head], out=mixed[head])
        mixed[head] /= total


def _by_head(rows: Floats, n_kv: int, head_dim: int) -> Floats:
    """View rows [n, H × D] as [J, G, n, D]; a single row as [J, 1, G, D], so that one product serves all G heads."""
    heads = rows.reshape(len(rows), n_kv, -1, head_dim)
    return heads.transpose(1, 0, 2, 3) if len(rows) == 1 else heads.transpose(1, 2, 0, 3)


def _causal_mask(n: int) -> Floats:
    return np.triu(np.full((n, n), -np.inf, np.float32), 1)


def _exponentials(scores: Floats, total: Floats, scale: np.float32) -> None:
    """Replace scores [..., T] by scale × exp(score - highest); total [..., 1] takes the sums without the scale."""
    np.max(scores, axis=-1, keepdims=True, out=total)
    np.subtract(scores, total, out=scores)
    np.exp(scores, out=scores)
    np.sum(scores, axis=-1, keepdims=True, out=total)
    if scale != 1:
        np.multiply(scores, scale, out=scores)


def _widen(tensor: KvTensor, layer: int, rows: CellIds | slice, out: Floats, work: Workspace) -> None:
    """Put rows of a layer, all side by side, into out."""
    items = tensor.items[layer]
    if isinstance(rows, slice):
        stored = items[rows]
    else:
        stored = work.items("gathered", items.dtype, rows.size, items.shape[1])
        np.take(items, rows.reshape(-1), axis=0, out=stored, mode="clip")
    tensor.kind.decode(stored, out.reshape(len(stored), -1))
