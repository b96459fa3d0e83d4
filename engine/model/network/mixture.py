"""The feed-forward half of a layer with experts: each row goes through a few of many networks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats
from ..gguf.hparams import HParams
from ..threads.crew import Crew
from .feed import FeedPass
from .layer import Feed, Mixture
from .matmul import padded, product_of, usable_rows
from .workspace import Workspace

__all__ = ["MixturePass", "route"]

KEPT_PASSES = 16
"""Numbers of rows an expert has often, as while sequences generate; passes of other sizes are made anew."""
LEAST_SUM = np.float32(2.0**-14)
"""What the weights of the chosen experts are divided by at least, as in llama.cpp."""


class MixturePass:
    """Buffers of n rows and of those that go to one expert at a time.

    ``rows``: [n, E] in; ``back``: [n, E padded to whole blocks] out. An expert's results do not depend on the rows
    beside a row, and a row adds up its experts by their number, so neither does the sum.
    """

    def __init__(self, h: HParams, rows: Floats, back: Floats, work: Workspace, n_parts: int) -> None:
        self._h, self._work, self._n_parts = h, work, n_parts
        self._rows, self._back = rows, back
        self._logits = work.floats("router", len(rows), padded(h.n_expert))
        self._to_router = product_of(rows, self._logits, n_parts)
        self._passes: dict[int, FeedPass] = {}

    def run(self, mixture: Mixture, n: int, crew: Crew) -> None:
        """Put the weighted sum of each row's experts in ``back``; rows from n on hold no tokens."""
        self._to_router.run(mixture.router, crew)
        chosen, weights = route(self._logits[:n, : self._h.n_expert], self._h.n_expert_used)
        self._back[:] = 0
        for number in np.unique(chosen):
            places, ranks = np.nonzero(chosen == number)
            self._add(mixture.experts[number], places, weights[places, ranks], crew)

    def _add(self, expert: Feed, places: NDArray[np.intp], weights: Floats, crew: Crew) -> None:
        """Add an expert's results for the rows at some places."""
        n = len(places)
        feed = self._pass_of(usable_rows(n))
        self._rows.take(places, 0, feed.rows[:n], "clip")
        feed.rows[n:] = 0
        feed.run(expert, crew)
        self._back[places] += feed.back[:n] * weights[:, None]

    def _pass_of(self, n: int) -> FeedPass:
        known = self._passes.get(n)
        if known is not None:
            return known
        rows = self._work.floats("expert rows", n, self._h.n_embd)
        back = self._work.floats("expert back", n, self._back.shape[1])
        made = FeedPass(self._h, rows, back, self._work, self._n_parts)
        if n <= KEPT_PASSES:
            self._passes[n] = made
        return made


def route(logits: Floats, n_used: int) -> tuple[NDArray[np.intp], Floats]:
    """The experts [n, n_used] with the highest of logits [n, n_expert], and their weights, whose sum is 1."""
    chosen = np.argsort(-logits, axis=1, kind="stable")[:, :n_used]
    likely = np.exp(logits - logits.max(axis=1, keepdims=True))
    likely /= likely.sum(axis=1, keepdims=True)
    weights: Floats = np.take_along_axis(likely, chosen, 1)
    weights /= np.maximum(weights.sum(axis=1, keepdims=True), LEAST_SUM)
    return chosen, weights
