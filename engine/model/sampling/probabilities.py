"""``completion_probabilities``: what a token's chances were (spec §7.9)."""

from __future__ import annotations

import math

import numpy as np

from ..arrays import Floats
from .best import best
from .sampler import Sampler

__all__ = ["probabilities"]


def probabilities(logits: Floats, sampler: Sampler, token: int) -> tuple[float, list[tuple[int, float]]]:
    """The chosen token's value and the top list, best first, for one row, [V], just sampled.

    Before sampling: log softmax of the raw logits. With ``post_sampling_probs``: what is left after the whole chain,
    tokens of probability 0 left out.
    """
    params = sampler.params
    if params.post_sampling_probs:
        return _after(sampler, token, params.n_probs)
    most = logits.max()
    total = float(most) + math.log(float(np.exp(logits - most).sum(dtype=np.float64)))
    ids, values = best(logits[None], params.n_probs)
    top = zip(ids[0].tolist(), values[0].tolist(), strict=True)
    return float(logits[token]) - total, [(other, value - total) for other, value in top]


def _after(sampler: Sampler, token: int, n_probs: int) -> tuple[float, list[tuple[int, float]]]:
    left = sampler.left
    if left is None:
        return 1.0, [(token, 1.0)]
    chances = left.probabilities()
    order = np.argsort(-chances, kind="stable")
    own = chances[left.ids == token]
    top = [(int(left.ids[place]), float(chances[place])) for place in order[:n_probs] if chances[place] > 0]
    return float(own[0]) if len(own) else 0.0, top
