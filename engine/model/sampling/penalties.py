"""Penalties for tokens that were said before (spec §8.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ..arrays import Floats
from ..sampling_params import SamplingParams

__all__ = ["apply_penalties", "has_penalties", "has_reciprocal"]


def has_penalties(params: SamplingParams) -> bool:
    """Whether the penalties change anything."""
    neutral = params.repeat_penalty == 1 and params.frequency_penalty == 0 and params.presence_penalty == 0
    return params.repeat_last_n > 0 and not neutral


def has_reciprocal(penalty: float) -> bool:
    """Whether a penalty is positive and finite, and 1 / penalty too, in 32 bits."""
    with np.errstate(all="ignore"):
        own = np.float32(penalty)
        return bool(own > 0 and np.isfinite(own) and np.isfinite(np.float32(1) / own))


def apply_penalties(logits: Floats, history: Sequence[int], params: SamplingParams) -> None:
    """Lower in place the logits, [V], of tokens among the last ``repeat_last_n``."""
    counts = Counter(history[-params.repeat_last_n :])
    if not counts:
        return
    ids = np.fromiter(counts.keys(), np.intp, len(counts))
    times = np.fromiter(counts.values(), np.float32, len(counts))
    repeat = np.float32(params.repeat_penalty)
    seen = logits[ids]
    seen = np.where(seen <= 0, seen * repeat, seen / repeat)
    logits[ids] = seen - times * np.float32(params.frequency_penalty) - np.float32(params.presence_penalty)
