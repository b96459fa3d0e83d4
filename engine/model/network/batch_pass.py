"""Scratch memory of a pass through the layers, laid out once for a number of rows and used by every layer and step."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np

from ..gguf.hparams import HParams
from .arrays import Floats
from .matmul import BLOCK, Product, useful_parts
from .workspace import Workspace

__all__ = ["BatchPass"]

LEAST_TO_SHARE = 1 << 16
"""Values of the inner width that one thread may keep for itself."""


class BatchPass:
    """Buffers of n rows and the products between them.

    ``x``: [n, E] what the layers add to; ``normed``, ``back``: [n, E]; ``qkv``: [n, H × D + J × (D + Dv)];
    ``mixed``: [n, H × Dv]; ``gate``, ``up``, ``inner``: [n, F].
    """

    def __init__(self, h: HParams, n: int, work: Workspace, n_parts: int) -> None:
        n_q, n_v = h.n_head * h.head_dim_k, h.n_head_kv * h.head_dim_v
        n_qk = n_q + h.n_head_kv * h.head_dim_k
        self.x = work.floats("x", n, h.n_embd)
        self.normed = work.floats("normed", n, h.n_embd)
        self.sums = work.floats("sums", n)
        self.roots = self.sums[:, None]
        self.mixed = work.floats("mixed", n, h.n_head * h.head_dim_v)
        self.inner = work.floats("inner", n, h.n_ff)
        qkv = work.floats("qkv", n, _padded(n_qk + n_v))
        gate_up = work.floats("gate_up", n, _padded(2 * h.n_ff))
        back = work.floats("back", n, _padded(h.n_embd))
        self.q, self.k, self.v = qkv[:, :n_q], qkv[:, n_q:n_qk], qkv[:, n_qk : n_qk + n_v]
        self.heads = qkv[:, :n_qk].reshape(n, -1, h.head_dim_k)
        self.gate, self.up = gate_up[:, : h.n_ff], gate_up[:, h.n_ff : 2 * h.n_ff]
        self.back = back[:, : h.n_embd]
        self.to_qkv = _product(self.normed, qkv, n_parts)
        self.to_gate_up = _product(self.normed, gate_up, n_parts)
        self.to_width = _product(self.mixed, back, n_parts)
        self.down = _product(self.inner, back, n_parts)
        self.activations = self._activations(n_parts)

    def norm(self, sum_epsilon: float) -> None:
        """normed = x / root of the sum of squares and ``sum_epsilon``, the rest being part of the next matrix."""
        np.vecdot(self.x, self.x, out=self.sums)
        np.add(self.sums, np.float32(sum_epsilon), out=self.sums)
        np.sqrt(self.sums, out=self.sums)
        np.divide(self.x, self.roots, out=self.normed)

    def activate(self, rows: slice) -> None:
        """inner = silu(gate) × up, of some rows.

        With -gate and -up at hand that is gate × up / (1 + exp(-gate)), and nothing need be negated.
        """
        gate, inner = self.gate[rows], self.inner[rows]
        np.multiply(gate, self.up[rows], out=inner)
        np.exp(gate, out=gate)
        np.add(gate, np.float32(1), out=gate)
        np.divide(inner, gate, out=inner)

    def _activations(self, n_parts: int) -> list[Callable[[], None]]:
        """`activate` in as many calls as are worth the hand-over to other threads, ``n_parts`` at most."""
        n = len(self.x)
        n_parts = min(n_parts, 1 + self.inner.size // LEAST_TO_SHARE)
        bounds = [n * part // n_parts for part in range(n_parts + 1)]
        return [partial(self.activate, slice(a, b)) for a, b in pairwise(bounds)]


def _product(rows: Floats, out: Floats, n_parts: int) -> Product:
    return Product(rows, out, useful_parts(rows, out, n_parts))


def _padded(n: int) -> int:
    return -(-n // BLOCK) * BLOCK
