"""Attention of new tokens over the cells of their own sequences, read from the KV store.

Shapes: N = tokens of the batch, H = query heads, J = KV heads, G = H / J, D = head dimension, B = sequences of a group,
T = cells.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .attention_plan import Group, Share, Span
from .kv_store import KvTensor, TypedKvStore
from .kv_types_float import Floats
from .workspace import Workspace

__all__ = ["Attention"]

CellIds = NDArray[np.intp]


class Attention:
    """One thread's attention; it owns the scratch memory."""

    def __init__(self) -> None:
        self._work = Workspace()

    def attend(self, share: Share, layer: int, kv: TypedKvStore, q: Floats, out: Floats) -> None:
        """q [N, H × D], scaled and rotated as K is, to out [N, H × Dv], still rotated as V is."""
        for unit in share:
            if isinstance(unit, Group):
                self._attend_group(unit, layer, kv, q, out)
            else:
                self._attend_span(unit, layer, kv, q, out)

    def _attend_group(self, group: Group, layer: int, kv: TypedKvStore, q: Floats, out: Floats) -> None:
        n, length = group.rows.shape
        n_kv = kv.shape.n_head_kv
        keys = self._gathered(kv.k, layer, group.rows).reshape(n, length, n_kv, -1)
        queries = q[group.tokens].reshape(n, n_kv, -1, kv.shape.head_dim_k)
        scores = self._work.floats("scores", n, n_kv, queries.shape[2], length)
        np.matmul(queries, keys.transpose(0, 2, 3, 1), out=scores)
        if group.mask is not None:
            np.add(scores, group.mask, out=scores)
        total = _exponentials(scores)
        values = self._gathered(kv.v, layer, group.rows).reshape(n, length, n_kv, -1)
        mixed = np.matmul(scores, values.transpose(0, 2, 1, 3))
        mixed /= total
        out[group.tokens] = mixed.reshape(n, -1)

    def _attend_span(self, span: Span, layer: int, kv: TypedKvStore, q: Floats, out: Floats) -> None:
        place = slice(span.begin, span.begin + span.n)
        queries = _by_head(q[place], kv.shape.n_head_kv, kv.shape.head_dim_k)
        mixed = _by_head(out[place], kv.shape.n_head_kv, kv.shape.head_dim_v)
        keys = self._span_cells(kv.k, layer, span, "k").transpose(1, 2, 0)
        values = self._span_cells(kv.v, layer, span, "v").transpose(1, 0, 2)
        for head in range(kv.shape.n_head_kv):
            scores = self._work.floats("scores", *queries.shape[1:3], span.n_cells)
            np.matmul(queries[head], keys[head], out=scores)
            if span.n > 1:
                scores[..., span.n_cells - span.n :] += _causal_mask(span.n)
            total = _exponentials(scores)
            np.matmul(scores, values[head], out=mixed[head])
            mixed[head] /= total

    def _span_cells(self, tensor: KvTensor, layer: int, span: Span, name: str) -> Floats:
        """Values [T, J, D] of a span's cells."""
        if isinstance(span.rows, slice):
            return self._widened(tensor, tensor.items[layer, span.rows], name).reshape(span.n_cells, tensor.n_head, -1)
        return self._gathered(tensor, layer, span.rows, name).reshape(span.n_cells, tensor.n_head, -1)

    def _gathered(self, tensor: KvTensor, layer: int, rows: CellIds, name: str = "kv") -> Floats:
        """Values [T, J × D] of scattered rows."""
        items = tensor.items[layer]
        stored = self._work.items("gathered", items.dtype, rows.size, items.shape[1])
        np.take(items, rows.reshape(-1), axis=0, out=stored, mode="clip")
        return self._widened(tensor, stored, name)

    def _widened(self, tensor: KvTensor, stored: Floats, name: str) -> Floats:
        out = self._work.floats(name, len(stored), tensor.n_head * tensor.head_dim)
        tensor.kind.decode(stored, out)
        return out


def _by_head(rows: Floats, n_kv: int, head_dim: int) -> Floats:
    """View rows [n, H × D] as [J, G, n, D]; a single row as [J, 1, G, D], so that one product serves all G heads."""
    heads = rows.reshape(len(rows), n_kv, -1, head_dim)
    return heads.transpose(1, 0, 2, 3) if len(rows) == 1 else heads.transpose(1, 2, 0, 3)


def _causal_mask(n: int) -> Floats:
    return np.triu(np.full((n, n), -np.inf, np.float32), 1)


def _exponentials(scores: Floats) -> Floats:
    """Replace scores [..., T] by exp(score - highest) and return their sums [..., 1]."""
    np.subtract(scores, scores.max(axis=-1, keepdims=True), out=scores)
    np.exp(scores, out=scores)
    total: Floats = scores.sum(axis=-1, keepdims=True)
    return total
