"""The feed-forward half of a layer: one network for all rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np

from ..arrays import Floats
from ..gguf.hparams import HParams
from ..threads.crew import Crew
from .layer import Feed
from .matmul import padded, product_of
from .workspace import Workspace

__all__ = ["FeedPass"]

LEAST_TO_SHARE = 1 << 16
"""Values of the inner width that one thread may keep for itself."""


class FeedPass:
    """Buffers of n rows and the products between them.

    ``rows``: [n, E] in; ``back``: [n, E padded to whole blocks] out; ``gate``, ``up``, ``inner``: [n, F].
    """

    def __init__(self, h: HParams, rows: Floats, back: Floats, work: Workspace, n_parts: int) -> None:
        n = len(rows)
        gate_up = work.floats("gate_up", n, padded(2 * h.n_ff))
        self.rows, self.back = rows, back
        self.gate, self.up = gate_up[:, : h.n_ff], gate_up[:, h.n_ff : 2 * h.n_ff]
        self.inner = work.floats("inner", n, h.n_ff)
        self._to_gate_up = product_of(rows, gate_up, n_parts)
        self._to_back = product_of(self.inner, back, n_parts)
        self._activations = self._cut_activation(n_parts)

    def run(self, feed: Feed, crew: Crew) -> None:
        """Put the network's results in ``back``."""
        self._to_gate_up.run(feed.gate_up, crew)
        crew.run(self._activations)
        self._to_back.run(feed.down, crew)

    def activate(self, part: slice) -> None:
        """inner = silu(gate) × up, of some rows.

        With -gate and -up at hand that is gate × up / (1 + exp(-gate)), and nothing need be negated.
        """
        gate, inner = self.gate[part], self.inner[part]
        np.multiply(gate, self.up[part], out=inner)
        np.exp(gate, out=gate)
        np.add(gate, np.float32(1), out=gate)
        np.divide(inner, gate, out=inner)

    def _cut_activation(self, n_parts: int) -> list[Callable[[], None]]:
        """`activate` in as many calls as are worth the hand-over to other threads, ``n_parts`` at most."""
        n = len(self.rows)
        n_parts = min(n_parts, 1 + self.inner.size // LEAST_TO_SHARE)
        bounds = [n * part // n_parts for part in range(n_parts + 1)]
        return [partial(self.activate, slice(a, b)) for a, b in pairwise(bounds)]
