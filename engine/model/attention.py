"""Attention of new tokens over the cells of their own sequences, read from the KV store.

Shapes: N = tokens of the batch, H = query heads, J = KV heads, G = H / J, D = head dimension, B = sequences of a group,
T = cells. K and V come out of the store divided by the ``scale`` of their type; q and the weights make up for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from .attention_plan import AttentionPlan, Group, Span
from .crew import Crew
from .kv_store import KvTensor, TypedKvStore
from .kv_types_float import Floats
from .matmul import MOST_OUTPUTS
from .workspace import Workspace

__all__ = ["Attention"]

CellIds = NDArray[np.intp]
ONE = np.float32(1)
GROUPS_AT_ONCE = 4
TOKEN_PADDING = 256
SPAN_SCORES = 1 << 17
"""Scores of a span computed at once, at least those of one KV head."""
LEAST_TO_SHARE = 1 << 16
"""Values of V from which on they are widened by another thread at the same time as K."""


class Attention:
    """Attention with the threads of a crew; it owns the scratch memory."""

    def __init__(self, crew: Crew) -> None:
        self._crew = crew
        self._work = [Workspace() for _ in range(crew.size)]
        self._group_work = [Workspace() for _ in range(GROUPS_AT_ONCE)]

    def attend(self, plan: AttentionPlan, layer: int, kv: TypedKvStore, q: Floats, out: Floats) -> None:
        """q [N, H × D], scaled and rotated as K is, to out [N, H × Dv], still rotated as V is."""
        for first in range(0, len(plan.groups), GROUPS_AT_ONCE):
            self._attend_groups(plan.groups[first : first + GROUPS_AT_ONCE], layer, kv, q, out)
        if plan.spans:
            pairs = zip(plan.spans, self._work, strict=False)
            self._crew.run([partial(_attend_spans, spans, layer, kv, q, out, work) for spans, work in pairs])

    def _attend_groups(self, groups: Sequence[Group], layer: int, kv: TypedKvStore, q: Floats, out: Floats) -> None:
        """One thread weighs the cells by their keys while another one widens the values."""
        works = [_GroupWork(group, kv, q, work) for group, work in zip(groups, self._group_work, strict=False)]
        tasks = [
            partial(_weigh_all, works, layer, kv, self._work[0]),
            partial(_widen_all, works, layer, kv, self._work[-1]),
        ]
        if self._crew.size > 1 and sum(work.values.size for work in works) >= LEAST_TO_SHARE:
            self._crew.run(tasks)
        else:
            for task in tasks:
                task()
        for work in works:
            work.mix(out)


class _GroupWork:
    """What is computed for one group in one layer. ``work`` holds what lasts, the methods' ``work`` what passes."""

    def __init__(self, group: Group, kv: TypedKvStore, q: Floats, work: Workspace) -> None:
        (n, length), n_kv = group.shape, kv.shape.n_head_kv
        self._group = group
        self._queries = q[group.tokens].reshape(n, n_kv, -1, kv.shape.head_dim_k)
        self._scores = work.floats("scores", n, n_kv, self._queries.shape[2], length)
        self._total = work.floats("total", n, n_kv, self._queries.shape[2], 1)
        self.values = work.floats("v", n, length, n_kv, kv.shape.head_dim_v)

    def weigh(self, layer: int, kv: TypedKvStore, work: Workspace) -> None:
        """Weights of the cells [B, J, G, T] and their sums [B, J, G, 1]."""
        keys = work.floats("k", *self._group.shape, kv.shape.n_head_kv, kv.shape.head_dim_k)
        _widen(kv.k, layer, self._group.rows, keys, work)
        self._queries *= kv.k.kind.scale
        _compare(self._queries, keys, self._scores)
        if self._group.mask is not None:
            np.add(self._scores, self._group.mask, out=self._scores)
        _exponentials(self._scores, self._total, kv.v.kind.scale)

    def widen_values(self, layer: int, kv: TypedKvStore, work: Workspace) -> None:
        """V of the cells [B, T, J, Dv]."""
        _widen(kv.v, layer, self._group.rows, self.values, work)

    def mix(self, out: Floats) -> None:
        """Put the weighted mean of V into the rows of the group's tokens."""
        mixed = np.matmul(self._scores, self.values.transpose(0, 2, 1, 3))
        mixed /= self._total
        out[self._group.tokens] = mixed.reshape(len(mixed), -1)


def _weigh_all(works: Sequence[_GroupWork], layer: int, kv: TypedKvStore, work: Workspace) -> None:
    for group in works:
        group.weigh(layer, kv, work)


def _widen_all(works: Sequence[_GroupWork], layer: int, kv: TypedKvStore, work: Workspace) -> None:
    for group in works:
        group.widen_values(layer, kv, work)


def _attend_spans(spans: list[Span], layer: int, kv: TypedKvStore, q: Floats, out: Floats, work: Workspace) -> None:
    for span in spans:
        attend_one = _attend_token if span.n == 1 else _attend_span
        attend_one(span, layer, kv, q, out, work)


def _attend_token(span: Span, layer: int, kv: TypedKvStore, q: Floats, out: Floats, work: Workspace) -> None:
    """A single token over many cells: all heads at once, V in the place of K, which is no longer needed."""
    n_kv, n_padded = kv.shape.n_head_kv, -(-span.n_cells // TOKEN_PADDING) * TOKEN_PADDING
    queries = (q[span.begin] * kv.k.kind.scale).reshape(1, n_kv, -1, kv.shape.head_dim_k)
    keys = work.floats("k", 1, n_padded, n_kv, kv.shape.head_dim_k)
    _widen(kv.k, layer, span.rows, keys[0, : span.n_cells], work)
    padded_scores = work.floats("scores", *queries.shape[:3], n_padded)
    _compare(queries, keys, padded_scores)
    scores = padded_scores[0, ..., : span.n_cells]
    total = work.floats("total", *scores.shape[:2], 1)
    _exponentials(scores, total, kv.v.kind.scale)
    values = work.floats("k", span.n_cells, n_kv, kv.shape.head_dim_v)
    _widen(kv.v, layer, span.rows, values, work)
    mixed = np.matmul(scores, values.transpose(1, 0, 2))
    mixed /= total
    out[span.begin] = mixed.reshape(-1)


def _compare(queries: Floats, keys: Floats, scores: Floats) -> None:
    """Scores [B, J, G, T] of queries [B, J, G, D] and keys [B, T, J, D], T in pieces that make no large product."""
    n, n_kv, n_group, length = scores.shape
    piece = math.gcd(length, 1 << (MOST_OUTPUTS // n_group).bit_length() - 1)
    cut_keys = keys.reshape(n, length // piece, piece, n_kv, -1).transpose(0, 3, 1, 4, 2)
    cut_scores = scores.reshape(n, n_kv, n_group, -1, piece).transpose(0, 1, 3, 2, 4)
    np.matmul(queries[:, :, None], cut_keys, out=cut_scores)


def _attend_span(span: Span, layer: int, kv: TypedKvStore, q: Floats, out: Floats, work: Workspace) -> None:
    """Several tokens of one sequence: as many KV heads at once as have scores that stay in a core's cache."""
    n_kv, place = kv.shape.n_head_kv, slice(span.begin, span.begin + span.n)
    queries = _by_head(q[place] * kv.k.kind.scale, n_kv, kv.shape.head_dim_k)
    mixed = _by_head(out[place], n_kv, kv.shape.head_dim_v)
    keys = work.floats("k", span.n_cells, n_kv, kv.shape.head_dim_k)
    values = work.floats("v", span.n_cells, n_kv, kv.shape.head_dim_v)
    _widen(kv.k, layer, span.rows, keys, work)
    _widen(kv.v, layer, span.rows, values, work)
    if kv.v.kind.scale != 1:
        np.multiply(values, kv.v.kind.scale, out=values)
    keys_by_head, values_by_head = keys.transpose(1, 2, 0)[:, None], values.transpose(1, 0, 2)[:, None]
    mask = _causal_mask(span.n)
    n_heads = max(1, SPAN_SCORES // (queries[0, :, :, 0].size * span.n_cells))
    for first in range(0, n_kv, n_heads):
        heads = slice(first, min(first + n_heads, n_kv))
        asking, result = queries[heads], mixed[heads]
        scores = work.floats("scores", *asking.shape[:3], span.n_cells)
        total = work.floats("total", *asking.shape[:3], 1)
        np.matmul(asking, keys_by_head[heads], out=scores)
        scores[..., span.n_cells - span.n :] += mask
        _exponentials(scores, total)
        np.matmul(scores, values_by_head[heads], out=result)
        result /= total


def _by_head(rows: Floats, n_kv: int, head_dim: int) -> Floats:
    """View rows [n, H × D] as [J, G, n, D]."""
    return rows.reshape(len(rows), n_kv, -1, head_dim).transpose(1, 2, 0, 3)


def _causal_mask(n: int) -> Floats:
    return np.triu(np.full((n, n), -np.inf, np.float32), 1)


def _exponentials(scores: Floats, total: Floats, scale: np.float32 = ONE) -> None:
    """Replace scores [..., T] by scale × exp(score - highest); total [..., 1] takes the sums without the scale."""
    np.maximum.reduce(scores, axis=-1, keepdims=True, out=total)
    np.subtract(scores, total, out=scores)
    np.exp(scores, out=scores)
    np.add.reduce(scores, axis=-1, keepdims=True, out=total)
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
