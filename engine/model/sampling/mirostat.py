"""Mirostat: a target surprise instead of a fixed cut (versions 1 and 2)."""

from __future__ import annotations

import math
from random import Random

import numpy as np

from ..sampling_params import SamplingParams
from .candidates import Candidates

__all__ = ["Mirostat"]

ESTIMATE_FROM = 100


class Mirostat:
    """Keeps the running estimate ``mu``, in bits."""

    def __init__(self, params: SamplingParams, n_vocab: int) -> None:
        self._params = params
        self._n_vocab = n_vocab
        self._mu = 2.0 * params.mirostat_tau

    def sample(self, left: Candidates, chance: Random) -> int:
        """Pick a position among the candidates, which are cut, and learn from it."""
        left.sort()
        if self._params.mirostat == 1:
            left.keep(slice(max(1, min(self._cut(left), len(left)))))
        else:
            surprise = -np.log2(np.maximum(left.probabilities(), 1e-38))
            left.keep(slice(max(1, int((surprise <= self._mu).sum()))))
        chances = left.probabilities()
        picked = int(min(np.searchsorted(np.cumsum(chances), chance.random() * chances.sum(), "right"), len(left) - 1))
        observed = -math.log2(max(float(chances[picked]), 1e-38))
        self._mu -= self._params.mirostat_eta * (observed - self._params.mirostat_tau)
        return picked

    def _cut(self, left: Candidates) -> int:
        """Version 1: the k that the estimated exponent of the distribution gives."""
        chances = left.probabilities()[: ESTIMATE_FROM + 1]
        n = min(ESTIMATE_FROM, len(chances) - 1)
        if n < 1:
            return 1
        ranks = np.arange(n, dtype=np.float64)
        t = np.log((ranks + 2) / (ranks + 1))
        b = np.log(np.maximum(chances[:n], 1e-38) / np.maximum(chances[1 : n + 1], 1e-38))
        s_hat = float((t * b).sum() / (t * t).sum())
        epsilon = s_hat - 1
        if s_hat <= 0 or abs(epsilon) < 1e-9:
            return len(left)
        k = ((epsilon * 2**self._mu) / (1 - self._n_vocab ** (-epsilon))) ** (1 / s_hat)
        return int(k) if isinstance(k, float) and math.isfinite(k) else len(left)
