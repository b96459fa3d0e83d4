"""DRY: a growing penalty for tokens that would prolong a repetition (spec §8.3)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Protocol, TypeAlias

import numpy as np

from ..arrays import Floats, TokenIds
from ..sampling_params import SamplingParams

__all__ = ["Breakers", "apply_dry", "find_breakers", "has_dry"]

Breakers: TypeAlias = Mapping[int, frozenset[tuple[int, ...]]]
"""For each token that begins a sequence breaker, the tokens that complete it: () where it holds all of it."""

LOG_FLOAT_MAX = 88.7228391
MOST_BYTES = 40
MOST_TOKENS = 20


class Spelling(Protocol):
    """The part of a tokenizer that is needed here; hashed by identity."""

    @property
    def n_vocab(self) -> int: ...

    def piece(self, token: int, *, special: bool = False) -> bytes: ...

    def encode(self, text: str, *, add_special: bool = True, parse_special: bool = True) -> TokenIds: ...

    def __hash__(self) -> int: ...


def has_dry(params: SamplingParams) -> bool:
    """Whether DRY changes anything."""
    return params.dry_multiplier != 0 and params.dry_base >= 1 and params.dry_penalty_last_n > 0


def apply_dry(logits: Floats, history: Sequence[int], params: SamplingParams, breakers: Breakers) -> None:
    """Lower in place the logits, [V], of tokens that would prolong a repetition."""
    backwards = history[-params.dry_penalty_last_n :][::-1]
    if len(backwards) <= params.dry_allowed_length:
        return
    limit = _since_breaker(backwards, breakers)
    if limit < params.dry_allowed_length:
        return
    longest: dict[int, int] = {}
    for length, following in _repetitions(backwards, limit, params.dry_allowed_length):
        longest[following] = max(longest.get(following, 0), length)
    most = int(LOG_FLOAT_MAX / math.log(params.dry_base)) if params.dry_base > 1.000001 else 0
    for token, length in longest.items():
        if () not in breakers.get(token, ()):
            exponent = length - params.dry_allowed_length
            exponent = min(exponent, most) if most else exponent
            logits[token] -= np.float32(params.dry_multiplier * params.dry_base**exponent)


def _since_breaker(backwards: Sequence[int], breakers: Breakers) -> int:
    """Tokens after the last sequence breaker, all where there is none."""
    for place, token in enumerate(backwards):
        following = tuple(backwards[max(0, place - MOST_TOKENS) : place][::-1])
        lengths = [len(tail) for tail in breakers.get(token, ()) if tail == following[: len(tail)]]
        if lengths:
            return place - max(lengths)
    return len(backwards)


def _repetitions(backwards: Sequence[int], limit: int, least: int) -> list[tuple[int, int]]:
    """(length of the suffix that also ends before a position, the token at that position), by the Z algorithm.

    With a ``least`` length of 0 every token that was there counts.
    """
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
    return [(min(lengths[i], limit), backwards[i - 1]) for i in range(1, n) if min(lengths[i], limit) >= least]


@lru_cache(maxsize=16)
def find_breakers(tokenizer: Spelling, breakers: tuple[str, ...]) -> Breakers:
    """Every way in which tokens can spell a sequence breaker; breakers are cut to 40 bytes."""
    wanted = {breaker.encode(errors="replace")[:MOST_BYTES] for breaker in breakers if breaker}
    begun = _beginnings(wanted, tokenizer)
    lengths = {len(breaker) for breaker in wanted}
    found: dict[int, frozenset[tuple[int, ...]]] = {}
    for token in range(tokenizer.n_vocab):
        piece = tokenizer.piece(token, special=True)
        inside = wanted & {piece[at : at + n] for n in lengths for at in range(len(piece) - n + 1)}
        endings = (piece[at:] for at in range(len(piece)))
        ways = {tail for ending in endings for breaker, tail in begun.get(ending, ()) if breaker not in inside}
        if ways or inside:
            found[token] = frozenset({*ways, ()} if inside else ways)
    return found


def _beginnings(wanted: Iterable[bytes], tokenizer: Spelling) -> dict[bytes, list[tuple[bytes, tuple[int, ...]]]]:
    """By the first bytes of a breaker: the breakers that begin so, with the tokens of their other bytes."""
    begun: dict[bytes, list[tuple[bytes, tuple[int, ...]]]] = {}
    tails: dict[bytes, tuple[int, ...]] = {}
    for breaker in wanted:
        for n in range(1, len(breaker)):
            rest = breaker[n:]
            if rest not in tails:
                tails[rest] = _tail(tokenizer, rest)
            begun.setdefault(breaker[:n], []).append((breaker, tails[rest]))
    return begun


def _tail(tokenizer: Spelling, rest: bytes) -> tuple[int, ...]:
    tokens = tokenizer.encode(rest.decode(errors="replace"), add_special=False, parse_special=False)
    return tuple(int(token) for token in tokens[:MOST_TOKENS])
