"""Many rows at once: greedy ones together, and plain ones with equal parameters together."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats
from .best import best
from .sampler import Sampler

__all__ = ["sample_rows"]


def sample_rows(logits: Floats, samplers: Sequence[Sampler]) -> list[int]:
    """Pick a token for each row of [R, V]; row i by sampler i, with the same result as `Sampler.sample`."""
    tokens = [0] * len(samplers)
    greedy: list[int] = []
    groups: dict[tuple[float, ...], list[int]] = {}
    for row, sampler in enumerate(samplers):
        if sampler.is_plain:
            groups.setdefault(sampler.group, []).append(row)
        elif sampler.is_greedy and not len(sampler.bias_ids):
            sampler.left = None
            greedy.append(row)
        else:
            tokens[row] = sampler.sample(logits[row])
    if len(greedy) == len(tokens):
        best_of_all: list[int] = logits.argmax(axis=1).tolist()
        return best_of_all
    for row in greedy:
        tokens[row] = int(logits[row].argmax())
    for rows in groups.values():
        for row, token in zip(rows, _plain(logits, samplers, rows), strict=True):
            tokens[row] = token
    return tokens


def _plain(logits: Floats, samplers: Sequence[Sampler], rows: list[int]) -> list[int]:
    """Top-k, top-p, min-p, temperature and the draw for rows that share them."""
    params = samplers[rows[0]].params
    shares = np.empty((len(rows), 1))
    chosen = logits[rows]
    for place, row in enumerate(rows):
        sampler = samplers[row]
        sampler.left = None
        shares[place, 0] = sampler.random.random()
        if len(sampler.bias_ids):
            chosen[place, sampler.bias_ids] += sampler.bias
    with np.errstate(all="ignore"):
        ids, values = best(chosen, params.top_k)
        kept = np.ones(values.shape, bool)
        if params.top_p < 1:
            kept = _within_top_p(values, params.top_p, params.min_keep)
        if params.min_p > 0:
            kept = _within_min_p(values, kept, params.min_p, params.min_keep)
        scaled = np.where(kept, values / np.float32(params.temperature), -np.inf)
        reached = np.cumsum(np.exp(scaled - scaled[:, :1]), axis=1, dtype=np.float64)
        places = np.minimum((reached <= shares * reached[:, -1:]).sum(axis=1), kept.sum(axis=1) - 1)
    picked: list[int] = ids[np.arange(len(rows)), places].tolist()
    return picked


def _within_top_p(values: Floats, top_p: float, min_keep: int) -> NDArray[np.bool_]:
    """Which of the sorted tokens, [R, k], make up the first ``top_p`` of the probability."""
    reached = np.cumsum(np.exp(values - values[:, :1]), axis=1, dtype=np.float64)
    kept = np.ones(values.shape, bool)
    kept[:, 1:] = ~(reached[:, :-1] >= top_p * reached[:, -1:])
    kept[:, : max(1, min_keep)] = True
    return kept


def _within_min_p(values: Floats, kept: NDArray[np.bool_], p: float, min_keep: int) -> NDArray[np.bool_]:
    """Which of the sorted and kept tokens, [R, k], are at least p times as likely as the best."""
    good = kept & (values >= values[:, :1] + np.float32(math.log(p)))
    if min_keep <= 1:
        return good
    enough = good.sum(axis=1, keepdims=True) >= min_keep
    return np.where(enough, good, kept & (np.arange(values.shape[1]) < min_keep))
