"""Mirostat: a target surprise instead of a fixed cut (versions 1 and 2)."""

from __future__ import annotations

import math
from random import Random

import numpy as np

from ..sampling_params import SamplingParams
from .candidates import Candidates

__all__ = ["Mirostat"]

RANKS = 100


class Mirostat:
    """Keeps the running estimate ``mu``, in bits."""

    def __init__(self, params: SamplingParams, n_vocab: int) -> None:
        self._params = params
        self._n_vocab = n_vocab
        self.reset()

    def reset(self) -> None:
        """Begin anew."""
        self._mu = 2.0 * self._params.mirostat_tau

    def sample(self, left: Candidates, chance: Random) -> int:
        """Pick a token from the candidates, which are cut, and learn from it."""
        if self._params.mirostat == 1:
            left.keep_best(self._cut(left))
        else:
            self._drop_surprising(left)
        place = left.place_at(chance.random())
        observed = -math.log2(max(float(left.probabilities()[place]), 1e-38))
        self._mu -= self._params.mirostat_eta * (observed - self._params.mirostat_tau)
        return int(left.ids[place])

    def _drop_surprising(self, left: Candidates) -> None:
        """Version 2: keep what surprises no more than ``mu``, at least the best."""
        kept = -np.log2(left.probabilities()) <= self._mu
        if kept.any():
            left.keep(kept)
        else:
            left.keep_best(1)

    def _cut(self, left: Candidates) -> int:
        """Version 1: the k that the estimated exponent of the distribution gives."""
        top = Candidates(left.ids, left.logits, left.is_sorted)
        top.keep_best(RANKS)
        if len(top) < 2:
            return 1
        chances = top.weights().astype(np.float64)
        ranks = np.arange(len(top) - 1)
        t = np.log((ranks + 2) / (ranks + 1))
        b = np.log(chances[:-1] / chances[1:])
        s_hat = np.float64((t * b).sum() / (t * t).sum())
        epsilon = s_hat - 1
        k = (epsilon * np.exp2(self._mu) / (1 - np.float64(self._n_vocab) ** -epsilon)) ** (1 / s_hat)
        return max(1, int(min(float(k), len(left)))) if np.isfinite(k) else 1
