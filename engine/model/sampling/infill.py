"""Infill: what an editor wants of a completion in the middle of a text, an early end or a sure word."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats
from ..interface import Tokenizer
from .candidates import Candidates

__all__ = ["apply_infill"]

SURE = 0.2
"""The probability below which no token is kept."""
BEHIND = b"\xff" * 64  # put behind a text, it comes after all that begin with it


def apply_infill(left: Candidates, tokenizer: Tokenizer) -> None:
    """Keep what ends the text where that is likely at all, else the few likely tokens beside it.

    Tokens that begin another one, or are begun by one, count as the likelier of both.
    """
    left.keep_best(len(left))
    chances = left.probabilities()
    ends = np.isin(left.ids, list(tokenizer.eog))
    if 3 * chances[ends].sum() * len(left) > chances[~ends].sum():
        left.keep(ends)
        return
    merged = _merged(chances, left.logits == -np.inf, [tokenizer.piece(int(token)) for token in left.ids])
    sure = (merged >= SURE) & ~ends
    if not sure.any():
        end = min(tokenizer.eog) if tokenizer.eos is None else tokenizer.eos
        left.ids, left.logits = np.array([end]), np.ones(1, np.float32)
        return
    shares = merged / merged[sure | ends].sum()
    left.keep(sure & (shares >= 1 / (sure.sum() + 1)) | ends)


def _merged(chances: Floats, gone: NDArray[np.bool_], pieces: list[bytes]) -> Floats:
    """Probabilities, [n], best first, after each was added to that of a likelier token with the same beginning."""
    merged, over = chances.copy(), gone.copy()
    order = sorted(range(len(pieces)), key=pieces.__getitem__)
    texts = [pieces[place] for place in order]
    for one, piece in enumerate(pieces):
        alike = order[bisect_left(texts, piece) : bisect_right(texts, piece + BEHIND)] if piece else []
        for other in sorted(alike):
            if over[one]:
                break
            if other == one or over[other]:
                continue
            into, out = (other, one) if merged[other] > merged[one] else (one, other)
            merged[into] += merged[out]
            merged[out], over[out] = 0.0, True
    return merged
