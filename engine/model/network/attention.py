"""Attention of new tokens over the cells of their own sequences, read from the KV store.

Shapes: N = tokens of the batch, H = query heads, J = KV heads, G = H / J, D = head dimension, T = cells. "To widen" is
to decode stored K or V to float32. That leaves them divided by the ``scale`` of their type, so q is multiplied by that
of K, and the weights of the cells, or V itself, by that of V.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..arrays import CellIds, Floats
from ..kv.store import KvTensor, TypedKvStore
from ..threads.crew import Crew
from .attention_groups import GroupAttention, GroupMemory
from .attention_math import exponentials, key_operands
from .attention_plan import AttentionPlan, Span
from .workspace import Workspace

__all__ = ["Attention", "StepAttention"]

TOKEN_PADDING = 256
SPAN_SCORES = 1 << 17
"""Scores of a span computed at once, at least those of one KV head."""


class Attention:
    """Makes the attention of each step; owns the scratch memory."""

    def __init__(self, crew: Crew) -> None:
        self._crew = crew
        self._work = [Workspace() for _ in range(crew.size)]
        self._group_work = GroupMemory()

    def prepare(self, plan: AttentionPlan, kv: TypedKvStore, out: Floats) -> StepAttention:
        """Attention of one step, whose results go to out [N, H × Dv], still rotated as V is."""
        groups = GroupAttention(plan.groups, kv, out, self._crew, self._group_work)
        return StepAttention(plan, kv, out, groups, self._crew, self._work)


class StepAttention:
    """Made by `Attention`; valid until it makes the next one."""

    def __init__(
        self,
        plan: AttentionPlan,
        kv: TypedKvStore,
        out: Floats,
        groups: GroupAttention,
        crew: Crew,
        work: list[Workspace],
    ) -> None:
        self._spans = plan.spans
        self._kv = kv
        self._out = out
        self._groups = groups
        self._crew = crew
        self._work = work

    def attend(self, layer: int, q: Floats) -> None:
        """Attend with q [N, H × D], scaled and rotated as K is."""
        self._groups.attend(layer, q)
        if self._spans:
            pairs = zip(self._spans, self._work, strict=False)
            attend = partial(_attend_spans, layer, self._kv, q, self._out)
            self._crew.run([partial(attend, spans, work) for spans, work in pairs])


def _attend_spans(layer: int, kv: TypedKvStore, q: Floats, out: Floats, spans: list[Span], work: Workspace) -> None:
    for span in spans:
        attend_one = _attend_token if span.n == 1 else _attend_span
        attend_one(span, layer, kv, q, out, work)


def _attend_token(span: Span, layer: int, kv: TypedKvStore, q: Floats, out: Floats, work: Workspace) -> None:
    """A single token over many cells: all heads at once. V goes into the buffer of K, which is not needed any more."""
    n_kv, n_padded = kv.shape.n_head_kv, -(-span.n_cells // TOKEN_PADDING) * TOKEN_PADDING
    queries = (q[span.begin] * kv.k.kind.scale).reshape(1, n_kv, -1, kv.shape.head_dim_k)
    keys = work.floats("k", 1, n_padded, n_kv, kv.shape.head_dim_k)
    _widen(kv.k, layer, span.rows, keys[0, : span.n_cells], work)
    padded_scores = work.floats("scores", *queries.shape[:3], n_padded)
    operands = key_operands(queries, keys, padded_scores)
    np.matmul(operands[0], operands[1], out=operands[2])
    scores = padded_scores[0, ..., : span.n_cells]
    total = work.floats("total", *scores.shape[:2], 1)
    exponentials(scores, total)
    scores *= kv.v.kind.scale
    values = work.floats("k", span.n_cells, n_kv, kv.shape.head_dim_v)
    _widen(kv.v, layer, span.rows, values, work)
    mixed = np.matmul(scores, values.transpose(1, 0, 2))
    mixed /= total
    out[span.begin] = mixed.reshape(-1)


def _attend_span(span: Span, layer: int, kv: TypedKvStore, q: Floats, out: Floats, work: Workspace) -> None:
    """Several tokens of one sequence: as many KV heads at once as their scores fit into a core's cache."""
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
        exponentials(scores, total)
        np.matmul(scores, values_by_head[heads], out=result)
        result /= total


def _by_head(rows: Floats, n_kv: int, head_dim: int) -> Floats:
    """View rows [n, H × D] as [J, G, n, D]."""
    return rows.reshape(len(rows), n_kv, -1, head_dim).transpose(1, 2, 0, 3)


def _causal_mask(n: int) -> Floats:
    return np.triu(np.full((n, n), -np.inf, np.float32), 1)


def _widen(tensor: KvTensor, layer: int, rows: CellIds | slice, out: Floats, work: Workspace) -> None:
    """Decode rows of a layer, stored values of [n] cells, into out [n, J, D]."""
    items = tensor.items[layer]
    if isinstance(rows, slice):
        stored = items[rows]
    else:
        stored = work.items("gathered", items.dtype, rows.size, items.shape[1])
        items.take(rows.reshape(-1), 0, stored, "clip")
    tensor.kind.decode(stored, out.reshape(len(stored), -1))
