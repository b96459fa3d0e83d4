"""Adaptive-p: prefers tokens whose probability is near a target that follows what was picked before."""

from __future__ import annotations

import numpy as np

from ..sampling_params import SamplingParams
from .candidates import Candidates

__all__ = ["AdaptiveP"]

WIDTH = 0.3
PEAK = 5.0
SHARPNESS = 10.0


class AdaptiveP:
    """Stands last in the chain. A target below 0 changes nothing."""

    def __init__(self, params: SamplingParams) -> None:
        self._target = params.adaptive_target
        self._decay = min(max(params.adaptive_decay, 0.0), 0.99)
        self.reset()

    def reset(self) -> None:
        """Begin anew."""
        self._weight = 1 / (1 - self._decay)
        self._sum = self._target * self._weight
        self._pending: tuple[int, float] | None = None

    def sample(self, left: Candidates, share: float) -> int:
        """Pick a token from the candidates, whose logits are changed, by a share of the probability, 0 to 1."""
        if self._target < 0:
            return int(left.ids[left.place_at(share)])
        chances = left.probabilities()
        distance = np.abs(chances - np.float32(self._adapted())) / np.float32(WIDTH)
        preferred = np.float32(PEAK) - np.float32(SHARPNESS) * distance * distance / (1 + distance)
        left.logits = np.where(left.logits == -np.inf, left.logits, preferred)
        left.is_sorted = False
        place = left.place_at(share)
        token = int(left.ids[place])
        self._pending = (token, float(chances[place]))
        return token

    def _adapted(self) -> float:
        target = min(self._target, 1.0)
        return min(max(2 * target - self._sum / self._weight, 0.0), 1.0)

    def accept(self, token: int) -> None:
        """Learn from the token that was said, where it is the one picked last."""
        if self._pending is not None and self._pending[0] == token:
            self._sum = self._pending[1] + self._decay * self._sum
            self._weight = 1 + self._decay * self._weight
        self._pending = None
