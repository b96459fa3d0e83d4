"""The few best of many logits, without sorting them all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats

__all__ = ["Ids", "best"]

Ids = NDArray[np.intp]
"""Token ids, or places in a list of candidates."""

LEAST_BLOCKS_PER_K = 3
MOST_BLOCK_LENGTH = 64


def best(values: Floats, k: int) -> tuple[Ids, Floats]:
    """The k best of each row of [R, n], best first, equal ones in id order: ids and values, [R, min(k, n)].

    A row is cut into blocks; the k-th best of the blocks' maxima is a bound that at least k values reach.
    """
    n = values.shape[1]
    length = min(MOST_BLOCK_LENGTH, n // (LEAST_BLOCKS_PER_K * max(k, 1)))
    if k >= n or length < 2:
        return _sorted(values, k)
    n_blocks = n // length
    maxima = values[:, : n_blocks * length].reshape(len(values), length, n_blocks).max(axis=1)
    bound = np.partition(maxima, n_blocks - k, axis=1)[:, n_blocks - k, None]
    reached = values >= bound
    counts = reached.sum(axis=1)
    if counts.min() < k:  # NaN among the values
        return _sorted(values, k)
    rows, columns = np.nonzero(reached)
    places = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    ids = np.zeros((len(values), int(counts.max())), np.intp)
    few = np.full(ids.shape, -np.inf, np.float32)
    ids[rows, places], few[rows, places] = columns, values[rows, columns]
    order, few = _sorted(few, k)
    return np.take_along_axis(ids, order, axis=1), few


def _sorted(values: Floats, k: int) -> tuple[Ids, Floats]:
    order = np.argsort(-values, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(values, order, axis=1)
