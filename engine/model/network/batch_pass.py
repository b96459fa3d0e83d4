"""Scratch memory of a pass through the layers, laid out once for a number of rows and used by every layer and step."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ..gguf.hparams import HParams
from .feed import FeedPass
from .matmul import padded, product_of
from .mixture import MixturePass
from .workspace import Workspace

__all__ = ["BatchPass"]


class BatchPass:
    """Buffers of n rows and the products between them.

    ``x``: [n, E] what the layers add to; ``normed``, ``back``: [n, E]; ``qkv``: [n, H × D + J × (D + Dv)];
    ``mixed``: [n, H × Dv].
    """

    def __init__(self, h: HParams, n: int, work: Workspace, n_parts: int) -> None:
        n_q, n_v = h.n_head * h.head_dim_k, h.n_head_kv * h.head_dim_v
        n_qk = n_q + h.n_head_kv * h.head_dim_k
        self.x = work.floats("x", n, h.n_embd)
        self.normed = work.floats("normed", n, h.n_embd)
        self.sums = work.floats("sums", n)
        self.roots = self.sums[:, None]
        self.mixed = work.floats("mixed", n, h.n_head * h.head_dim_v)
        qkv = work.floats("qkv", n, padded(n_qk + n_v))
        back = work.floats("back", n, padded(h.n_embd))
        self.q, self.k, self.v = qkv[:, :n_q], qkv[:, n_q:n_qk], qkv[:, n_qk : n_qk + n_v]
        self.heads = qkv[:, :n_qk].reshape(n, -1, h.head_dim_k)
        self.back = back[:, : h.n_embd]
        self._feed_buffers = (h, self.normed, back, work, n_parts)
        self.to_qkv = product_of(self.normed, qkv, n_parts)
        self.to_width = product_of(self.mixed, back, n_parts)

    @cached_property
    def feed(self) -> FeedPass:
        """From ``normed`` to ``back`` through one network."""
        return FeedPass(*self._feed_buffers)

    @cached_property
    def mixture(self) -> MixturePass:
        """From ``normed`` to ``back`` through a few of many networks."""
        return MixturePass(*self._feed_buffers)

    def norm(self, sum_epsilon: float) -> None:
        """normed = x / root of the sum of squares and ``sum_epsilon``, the rest being part of the next matrix."""
        np.vecdot(self.x, self.x, out=self.sums)
        np.add(self.sums, np.float32(sum_epsilon), out=self.sums)
        np.sqrt(self.sums, out=self.sums)
        np.divide(self.x, self.roots, out=self.normed)
