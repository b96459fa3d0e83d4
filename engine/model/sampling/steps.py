"""The steps of the chain that need no history: each takes candidates and leaves fewer (spec §8.4)."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

import numpy as np

from ..sampling_params import SamplingParams
from .candidates import Candidates

__all__ = ["STEPS", "Step"]

Step = Callable[[Candidates, SamplingParams, Random], None]


def top_n_sigma(left: Candidates, params: SamplingParams, _: Random) -> None:
    """Keep what lies within n standard deviations of the best logit."""
    if params.top_n_sigma <= 0 or len(left) <= 1:
        return
    finite = left.logits[np.isfinite(left.logits)]
    if len(finite):
        left.keep(left.logits >= finite.max() - params.top_n_sigma * finite.std())


def top_k(left: Candidates, params: SamplingParams, _: Random) -> None:
    """Keep the k best."""
    if params.top_k <= 0:
        return
    k = max(params.top_k, params.min_keep)
    if k < len(left) and not left.is_sorted:
        chosen = np.argpartition(-left.logits, k - 1)[:k]
        chosen.sort()
        left.keep(chosen)
    left.sort()
    left.keep(slice(k))


def typical(left: Candidates, params: SamplingParams, _: Random) -> None:
    """Keep tokens whose surprise is near the expected one."""
    if params.typical_p >= 1:
        return
    chances = left.probabilities()
    with np.errstate(divide="ignore", invalid="ignore"):
        surprise = -np.log(chances)
        entropy = np.nansum(chances * surprise)
        order = np.argsort(np.abs(surprise - entropy), kind="stable")
    reached = np.flatnonzero(np.cumsum(chances[order]) > params.typical_p)
    last = len(order) if not len(reached) else max(int(reached[0]) + 1, params.min_keep)
    left.keep(order[:last])
    left.is_sorted = False


def top_p(left: Candidates, params: SamplingParams, _: Random) -> None:
    """Keep the fewest best tokens that have p of the probability together."""
    if params.top_p >= 1:
        return
    left.sort()
    reached = np.flatnonzero(np.cumsum(left.probabilities()) >= params.top_p)
    if len(reached):
        left.keep(slice(max(int(reached[0]) + 1, params.min_keep, 1)))


def min_p(left: Candidates, params: SamplingParams, _: Random) -> None:
    """Drop tokens less likely than p times the best."""
    if params.min_p <= 0 or not len(left):
        return
    good = left.logits >= left.logits.max() + math.log(params.min_p)
    if good.sum() < params.min_keep:
        left.sort()
        left.keep(slice(params.min_keep))
    else:
        left.keep(good)


def xtc(left: Candidates, params: SamplingParams, chance: Random) -> None:
    """At times, drop all but the least likely of the tokens above a threshold."""
    if params.xtc_probability <= 0 or params.xtc_threshold > 0.5 or len(left) < 2:
        return
    if chance.random() > params.xtc_probability:
        return
    left.sort()
    n_above = int((left.probabilities() >= params.xtc_threshold).sum())
    n_dropped = n_above - 1
    if n_dropped > 0 and len(left) - n_dropped >= params.min_keep:
        left.keep(slice(n_dropped, None))


def temperature(left: Candidates, params: SamplingParams, _: Random) -> None:
    """Divide by the temperature; 0 keeps the best token alone. With a range, by one that follows the entropy."""
    if params.dynatemp_range > 0:
        if len(left) > 1:
            left.logits = left.logits / np.float32(max(1e-9, _dynamic(left, params)))
    elif params.temperature <= 0:
        best = int(left.logits.argmax())
        left.keep(slice(best, best + 1))
    else:
        left.logits = left.logits / np.float32(params.temperature)


def _dynamic(left: Candidates, params: SamplingParams) -> float:
    low = max(0.0, params.temperature - params.dynatemp_range)
    high = params.temperature + params.dynatemp_range
    chances = left.probabilities()
    chances = chances[chances > 0]
    entropy = float(-(chances * np.log(chances)).sum()) / math.log(len(left))
    return float(low + (high - low) * entropy**params.dynatemp_exponent)


STEPS: dict[str, Step] = {
    "top_n_sigma": top_n_sigma,
    "top_k": top_k,
    "typ_p": typical,
    "top_p": top_p,
    "min_p": min_p,
    "xtc": xtc,
    "temperature": temperature,
}
