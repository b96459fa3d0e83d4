"""Tokens still in the running, with their logits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Candidates", "softmax"]

Floats = NDArray[np.float32]
Ids = NDArray[np.intp]


def softmax(logits: Floats) -> Floats:
    """Probabilities of one row, [n]."""
    shifted = np.exp(logits - logits.max())
    result: Floats = shifted / shifted.sum()
    return result


@dataclass(slots=True)
class Candidates:
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

    def keep(self, chosen: NDArray[np.intp] | NDArray[np.bool_] | slice) -> None:
        """Keep a part of the tokens, in the order given."""
        self.ids, self.logits = self.ids[chosen], self.logits[chosen]

    def sort(self) -> None:
        """Best first."""
        if not self.is_sorted:
            self.keep(np.argsort(-self.logits, kind="stable"))
            self.is_sorted = True

    def probabilities(self) -> Floats:
        """Softmax of what is left, [n]."""
        return softmax(self.logits)
