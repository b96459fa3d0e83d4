"""Tokens still in the running, with their logits."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ..arrays import Floats
from .best import Ids, best

__all__ = ["Candidates"]


class Candidates(Struct):
    """``ids``: [n], ``logits``: [n]. Ties stand in id order once sorted."""

    ids: Ids
    logits: Floats
    is_sorted: bool = False

    @classmethod
    def of(cls, logits: Floats) -> Candidates:
        """All tokens of a row; the row is copied."""
        return cls(np.arange(len(logits)), logits.astype(np.float32, copy=True))

    def __len__(self) -> int:
        return len(self.ids)

    def keep(self, chosen: Ids | NDArray[np.bool_] | slice) -> None:
        """Keep a part of the tokens, in the order given."""
        self.ids, self.logits = self.ids[chosen], self.logits[chosen]

    def keep_best(self, k: int) -> None:
        """Keep the k best, best first."""
        if not self.is_sorted:
            order, _ = best(self.logits[None], k)
            self.keep(order[0])
            self.is_sorted = True
        self.keep(slice(k))

    def weights(self) -> Floats:
        """What the probabilities are proportional to, 1 for the best: [n]."""
        weights: Floats = np.exp(self.logits - self.logits.max())
        return weights

    def probabilities(self) -> Floats:
        """Softmax of what is left, [n]."""
        weights = self.weights()
        weights /= weights.sum()
        return weights

    def place_at(self, share: float) -> int:
        """The place that a share of the whole probability, 0 to 1, falls on."""
        reached = np.cumsum(self.weights(), dtype=np.float64)
        return min(int(np.searchsorted(reached, share * reached[-1], "right")), len(self) - 1)
