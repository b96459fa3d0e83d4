"""Rotary positions on neighbouring pairs (2i, 2i + 1), with linear, YaRN and LongRoPE stretching."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats
from ..gguf.hparams import HParams, RopeScaling

__all__ = ["Rope", "Ropes", "Turns", "rope_frequencies"]

Turns = NDArray[np.complex64]
FIRST_TABLE = 1024
BETA_FAST, BETA_SLOW = 32.0, 1.0
"""Turns over the original context from which on YaRN leaves a pair alone, and up to which it stretches it wholly."""


@np.errstate(all="ignore")
def rope_frequencies(hparams: HParams, freq_factors: Floats | None = None) -> tuple[NDArray[np.float64], float]:
    """Radians per position of each pair [rope_dim / 2], and the factor of the rotated values' length.

    ``freq_factors`` [rope_dim / 2] divide the frequencies.
    """
    n_pairs = hparams.rope_dim // 2
    plain = hparams.rope_base ** (-2.0 * np.arange(n_pairs) / hparams.rope_dim)
    if freq_factors is not None:
        plain = plain / freq_factors
    scaling = hparams.rope_scaling
    if scaling.type != "yarn":
        return plain / scaling.factor, scaling.attn_factor
    kept = _yarn_kept(hparams)
    return plain / scaling.factor * (1 - kept) + plain * kept, _yarn_length(scaling)


def _yarn_kept(hparams: HParams) -> NDArray[np.float64]:
    """How much of each pair's frequency YaRN leaves unstretched, 0 to 1: fast pairs wholly, slow ones not at all."""

    def pair_of(turns: float) -> np.float64:
        n_ctx = hparams.rope_scaling.n_ctx_orig
        return np.float64(hparams.rope_dim * math.log(n_ctx / (turns * 2 * math.pi))) / (
            2 * math.log(hparams.rope_base)
        )

    low = max(0.0, np.floor(pair_of(BETA_FAST)))
    high = min(hparams.rope_dim - 1.0, np.ceil(pair_of(BETA_SLOW)))
    ramp = (np.arange(hparams.rope_dim // 2) - low) / max(0.001, high - low)
    kept: NDArray[np.float64] = 1 - np.clip(ramp, 0, 1)
    return kept


def _yarn_length(scaling: RopeScaling) -> float:
    """Factor on q and k that keeps the entropy of attention over a stretched context."""
    return scaling.attn_factor * (1 + 0.1 * math.log(max(scaling.factor, 1.0)))


class Rope:
    """Rotates heads by position; one complex number per pair and position, computed once and kept."""

    def __init__(self, hparams: HParams, freq_factors: Floats | None = None) -> None:
        self._dim = hparams.rope_dim
        self._frequencies, self._length = rope_frequencies(hparams, freq_factors)
        self._table = self._turns(np.arange(FIRST_TABLE), self._length)

    @np.errstate(all="ignore")
    def _turns(self, positions: NDArray[np.integer], length: float) -> Turns:
        angles = np.multiply.outer(positions, self._frequencies)
        turns: Turns = (length * np.exp(1j * angles)).astype(np.complex64)
        return turns

    @property
    def lengthens(self) -> bool:
        """Whether what is rotated gets longer or shorter."""
        return self._length != 1

    def at(self, positions: NDArray[np.integer]) -> Turns:
        """Turns of positions [n]: [n, 1, rope_dim / 2], to be given to `rotate`."""
        highest = int(positions.max(initial=0))
        if highest >= len(self._table):
            self._table = self._turns(np.arange(1 << highest.bit_length()), self._length)
        turns: Turns = self._table[positions][:, None]
        return turns

    def by(self, deltas: NDArray[np.integer]) -> Turns:
        """Turns that move stored keys by deltas [n], also negative ones; they change lengths once more."""
        return self._turns(deltas, self._length)[:, None]

    def rotate(self, heads: Floats, turns: Turns) -> None:
        """Rotate heads [n, H, D], whose last axis is contiguous, in place."""
        pairs = heads[..., : self._dim].view(np.complex64)
        np.multiply(pairs, turns, out=pairs)


class Ropes:
    """The two ways to rotate that a file may hold, for short and for long contexts; mostly they are the same one."""

    def __init__(self, hparams: HParams, find: Callable[[str], Floats | None]) -> None:
        """``find`` gives a tensor, or None where the file has none of that name."""
        self._n_ctx_orig = hparams.rope_scaling.n_ctx_orig
        if hparams.rope_scaling.type == "longrope":
            self._short = Rope(hparams, find("rope_factors_short.weight"))
            self._long = Rope(hparams, find("rope_factors_long.weight"))
        else:
            self._short = self._long = Rope(hparams, find("rope_freqs.weight"))

    def of(self, n_ctx: int) -> Rope:
        """The way for streams of ``n_ctx`` cells."""
        return self._long if n_ctx > self._n_ctx_orig else self._short
