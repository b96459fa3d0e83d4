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

LOOKS = (256, 4096)
"""How many of the best are sorted first, since they mostly hold p of the probability."""


def top_n_sigma(left: Candidates, params: SamplingParams, _: Random) -> None:
    """Forbid what lies more than n standard deviations below the best logit."""
    if params.top_n_sigma <= 0 or len(left) <= 1:
        return
    possible = left.logits[left.logits != -np.inf]
    if len(possible):
        bound = possible.max() - np.float32(params.top_n_sigma) * possible.std()
        left.logits = np.where(left.logits < bound, np.float32(-np.inf), left.logits)


def top_k(left: Candidates, params: SamplingParams, _: Random) -> None:
    """Keep the k best; ``min_keep`` plays no part."""
    if params.top_k > 0:
        left.keep_best(params.top_k)


def typical(left: Candidates, params: SamplingParams, _: Random) -> None:
    """Keep tokens whose surprise is near the expected one."""
    if params.typical_p >= 1:
        return
    chances = left.probabilities()
    surprise = -np.log(chances)
    order = np.argsort(np.abs(surprise - np.nansum(chances * surprise)), kind="stable")
    reached = np.flatnonzero(np.cumsum(chances[order]) > params.typical_p)
    left.keep(order[: max(int(reached[0]) + 1, params.min_keep)] if len(reached) else order)
    left.is_sorted = False


def top_p(left: Candidates, params: SamplingParams, _: Random) -> None:
    """Keep the fewest best tokens that have p of the probability together."""
    if params.top_p >= 1:
        return
    whole = None if left.is_sorted else float(left.weights().sum(dtype=np.float64))
    looks = () if left.is_sorted else LOOKS
    if not any(k < len(left) and _cut_top_p(left, params, k, whole) for k in looks):
        _cut_top_p(left, params, len(left), whole)


def _cut_top_p(left: Candidates, params: SamplingParams, k: int, whole: float | None) -> bool:
    """Cut where p is reached among the k best; False, and nothing cut, where it is not reached there."""
    top = Candidates(left.ids, left.logits, left.is_sorted)
    top.keep_best(k)
    reached = np.cumsum(top.weights(), dtype=np.float64)
    enough = np.flatnonzero(reached >= params.top_p * (reached[-1] if whole is None else whole))
    if k < len(left) and (not len(enough) or params.min_keep > k):
        return False
    if len(enough):
        top.keep(slice(max(int(enough[0]) + 1, params.min_keep)))
    left.ids, left.logits, left.is_sorted = top.ids, top.logits, True
    return True


def min_p(left: Candidates, params: SamplingParams, _: Random) -> None:
    """Drop tokens less likely than p times the best."""
    if params.min_p <= 0 or not len(left):
        return
    good = left.logits >= left.logits.max() + np.float32(math.log(params.min_p))
    if good.sum() < params.min_keep:
        left.keep_best(params.min_keep)
    else:
        left.keep(good)


def xtc(left: Candidates, params: SamplingParams, chance: Random) -> None:
    """At times, drop all but the least likely of the tokens above a threshold."""
    if params.xtc_probability <= 0 or params.xtc_threshold > 0.5 or len(left) < 2:
        return
    if chance.random() > params.xtc_probability:
        return
    above = np.flatnonzero(left.probabilities() >= params.xtc_threshold)
    if len(above) > 1 and len(left) - len(above) + 1 >= params.min_keep:
        kept = np.ones(len(left), bool)
        kept[above[np.argsort(-left.logits[above], kind="stable")[:-1]]] = False
        left.keep(kept)


def temperature(left: Candidates, params: SamplingParams, _: Random) -> None:
    """Divide by the temperature; 0 keeps the best token alone. With a range, by one that follows the entropy."""
    if params.dynatemp_range > 0:
        if len(left) > 1:
            _divide(left, _dynamic(left, params))
    else:
        _divide(left, params.temperature)


def _divide(left: Candidates, by: float) -> None:
    if by > 0:
        left.logits = left.logits / np.float32(by)
    else:
        best = int(left.logits.argmax())
        left.keep(slice(best, best + 1))


def _dynamic(left: Candidates, params: SamplingParams) -> float:
    low = max(0.0, params.temperature - params.dynatemp_range)
    high = params.temperature + params.dynatemp_range
    chances = left.probabilities()
    chances = chances[chances > 0]
    entropy = max(0.0, float(-(chances * np.log(chances)).sum()) / math.log(len(left)))
    return low + (high - low) * float(np.float64(entropy) ** params.dynatemp_exponent)


STEPS: dict[str, Step] = {
    "top_n_sigma": top_n_sigma,
    "top_k": top_k,
    "typ_p": typical,
    "top_p": top_p,
    "min_p": min_p,
    "xtc": xtc,
    "temperature": temperature,
}
