"""Many rows at once: greedy ones together, and plain ones with equal parameters together."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..interface import FloatRows
from .sampler import Sampler

__all__ = ["sample_rows"]


def sample_rows(logits: FloatRows, samplers: Sequence[Sampler]) -> list[int]:
    """Pick a token for each row of [R, V]; row i by sampler i, with the same result as `Sampler.sample`."""
    if all(sampler.is_greedy and not len(sampler.bias_ids) for sampler in samplers):
        best: list[int] = logits.argmax(axis=1).tolist()
        return best
    tokens = [0] * len(samplers)
    groups: dict[tuple[float, ...], list[int]] = {}
    for row, sampler in enumerate(samplers):
        params = sampler.params
        if sampler.is_plain and params.n_probs == 0:
            key = (params.top_k, params.top_p, params.min_p, params.temperature, params.min_keep)
            groups.setdefault(key, []).append(row)
        else:
            tokens[row] = sampler.sample(logits[row])
    for rows in groups.values():
        for row, token in zip(rows, _plain(logits, samplers, rows), strict=True):
            tokens[row] = token
    return tokens


def _plain(logits: FloatRows, samplers: Sequence[Sampler], rows: list[int]) -> list[int]:
    """Top-k, top-p, min-p, temperature and the draw for rows that share them."""
    chosen = logits[rows]
    for place, row in enumerate(rows):
        sampler = samplers[row]
        if len(sampler.bias_ids):
            np.add.at(chosen[place], sampler.bias_ids, sampler.bias)
    params = samplers[rows[0]].params
    ids, values = _best(chosen, params.top_k, params.min_keep)
    keep = np.ones(values.shape, bool)
    if params.top_p < 1:
        keep &= _within_top_p(values, params.top_p, params.min_keep)
    if params.min_p > 0:
        good = keep & (values >= values[:, :1] + np.float32(math.log(params.min_p)))
        enough = good.sum(axis=1, keepdims=True) >= params.min_keep
        first = np.arange(values.shape[1]) < params.min_keep
        keep = np.where(enough, good, keep & first)
    scaled = np.where(keep, values / np.float32(params.temperature), -np.inf)
    chances = np.exp(scaled - scaled[:, :1])
    chances /= chances.sum(axis=1, keepdims=True)
    reached = np.cumsum(chances, axis=1)
    draws = np.array([samplers[row].random.random() for row in rows]) * reached[:, -1]
    places = np.minimum((reached <= draws[:, None]).sum(axis=1), keep.sum(axis=1) - 1)
    picked: list[int] = ids[np.arange(len(rows)), places].tolist()
    for row in rows:
        samplers[row].left = None
    return picked


def _best(values: FloatRows, top_k: int, min_keep: int) -> tuple[NDArray[np.intp], FloatRows]:
    """The k best of each row, best first, ties in id order: ids and logits, [R, k]."""
    k = max(top_k, min_keep) if top_k > 0 else values.shape[1]
    if k < values.shape[1]:
        ids = np.argpartition(-values, k - 1, axis=1)[:, :k]
        ids.sort(axis=1)
        values = np.take_along_axis(values, ids, axis=1)
        order = np.argsort(-values, axis=1, kind="stable")
        return np.take_along_axis(ids, order, axis=1), np.take_along_axis(values, order, axis=1)
    order = np.argsort(-values, axis=1, kind="stable")
    return order, np.take_along_axis(values, order, axis=1)


def _within_top_p(values: FloatRows, top_p: float, min_keep: int) -> NDArray[np.bool_]:
    """Which of the sorted tokens make up the first ``top_p`` of the probability."""
    chances = np.exp(values - values[:, :1])
    chances /= chances.sum(axis=1, keepdims=True)
    before = np.zeros_like(chances)
    np.cumsum(chances[:, :-1], axis=1, out=before[:, 1:])
    inside: NDArray[np.bool_] = before < top_p
    inside[:, : max(1, min_keep)] = True
    return inside
