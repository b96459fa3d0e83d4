"""The steps that look at what was said before: penalties and DRY (spec §8.3)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..sampling_params import SamplingParams

__all__ = ["apply_dry", "apply_penalties", "breaker_tokens", "has_dry", "has_penalties"]


class Spelling(Protocol):
    """The part of a tokenizer that is needed here; hashed by identity."""

    @property
    def n_vocab(self) -> int: ...

    def piece(self, token: int) -> bytes: ...

    def __hash__(self) -> int: ...


Floats = NDArray[np.float32]
LOG_FLOAT_MAX = 88.7228391


def has_penalties(params: SamplingParams) -> bool:
    """Whether the penalties change anything."""
    neutral = params.repeat_penalty == 1 and params.frequency_penalty == 0 and params.presence_penalty == 0
    return params.repeat_last_n > 0 and not neutral


def has_dry(params: SamplingParams) -> bool:
    """Whether DRY changes anything."""
    return params.dry_multiplier != 0 and params.dry_base >= 1 and params.dry_penalty_last_n > 0


def apply_penalties(logits: Floats, history: Sequence[int], params: SamplingParams) -> None:
    """Lower in place the logits, [V], of tokens among the last ``repeat_last_n``."""
    counts = Counter(history[-params.repeat_last_n :])
    if not counts:
        return
    ids = np.fromiter(counts.keys(), np.intp, len(counts))
    times = np.fromiter(counts.values(), np.float32, len(counts))
    seen = logits[ids]
    repeat = np.float32(params.repeat_penalty)
    seen = np.where(seen <= 0, seen * repeat, seen / repeat)
    logits[ids] = seen - times * np.float32(params.frequency_penalty) - np.float32(params.presence_penalty)


def apply_dry(logits: Floats, history: Sequence[int], params: SamplingParams, breakers: frozenset[int]) -> None:
    """Lower in place the logits of tokens that would prolong a repetition."""
    recent = list(history[-params.dry_penalty_last_n :])
    if len(recent) <= params.dry_allowed_length:
        return
    limit = next((back for back, token in enumerate(reversed(recent)) if token in breakers), len(recent))
    if limit < params.dry_allowed_length:
        return
    longest: dict[int, int] = {}
    for length, following in _repetitions(recent, limit):
        if length >= params.dry_allowed_length:
            longest[following] = max(longest.get(following, 0), length)
    most = LOG_FLOAT_MAX / math.log(params.dry_base) if params.dry_base > 1.000001 else math.inf
    for token, length in longest.items():
        exponent = min(length - params.dry_allowed_length, most)
        logits[token] -= np.float32(params.dry_multiplier * params.dry_base**exponent)


def _repetitions(recent: list[int], limit: int) -> list[tuple[int, int]]:
    """(length of the suffix that also ends before a position, the token at that position), by the Z algorithm."""
    backwards = recent[::-1]
    n = len(backwards)
    lengths = [0] * n
    left = right = 0
    for i in range(1, n):
        length = min(right - i, lengths[i - left]) if i < right else 0
        while i + length < n and backwards[length] == backwards[i + length]:
            length += 1
        lengths[i] = length
        if i + length > right:
            left, right = i, i + length
    return [(min(lengths[i], limit), backwards[i - 1]) for i in range(1, n) if lengths[i]]


@lru_cache(maxsize=16)
def breaker_tokens(tokenizer: Spelling, breakers: tuple[str, ...]) -> frozenset[int]:
    """Tokens whose text holds one of the sequence breakers."""
    wanted = [breaker.encode() for breaker in breakers if breaker]
    pieces = ((token, tokenizer.piece(token)) for token in range(tokenizer.n_vocab))
    return frozenset(token for token, piece in pieces if any(breaker in piece for breaker in wanted))
