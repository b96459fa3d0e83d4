"""Sampling parameters of a request, with llama-server's names and defaults (spec §8.3)."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

__all__ = ["DEFAULT_SAMPLERS", "RANDOM_SEED", "SamplingParams", "sampler_letters", "sampler_names"]

RANDOM_SEED = 0xFFFFFFFF
DEFAULT_SAMPLERS = ("penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature")
_LETTERS = dict(zip("edskypmxtia", (*DEFAULT_SAMPLERS, "infill", "adaptive_p"), strict=True))
_NAMES = {name.replace("_", joint): name for name in _LETTERS.values() for joint in ("_", "-", "")} | {
    "temp": "temperature", "typ": "typ_p", "nucleus": "top_p",
}  # fmt: skip


def sampler_letters(letters: str) -> tuple[str, ...]:
    """Samplers by their letters; unknown ones are dropped."""
    return tuple(_LETTERS[letter] for letter in letters if letter in _LETTERS)


def sampler_names(names: Iterable[str]) -> tuple[str, ...]:
    """Samplers by their names, with ``_``, ``-`` or nothing between the words; unknown ones are dropped."""
    words = [name.lower() for name in names]
    return tuple(_NAMES[word] for word in words if word in _NAMES)


class SamplingParams(Struct, frozen=True):
    """One request's sampler chain. ``logit_bias``: (token, bias) with −inf for "never"."""

    seed: int = RANDOM_SEED
    temperature: float = 0.8
    dynatemp_range: float = 0.0
    dynatemp_exponent: float = 1.0
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    top_n_sigma: float = -1.0
    xtc_probability: float = 0.0
    xtc_threshold: float = 0.1
    typical_p: float = 1.0
    repeat_last_n: int = 64
    repeat_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    dry_multiplier: float = 0.0
    dry_base: float = 1.75
    dry_allowed_length: int = 2
    dry_penalty_last_n: int = 64
    dry_sequence_breakers: tuple[str, ...] = ("\n", ":", '"', "*")
    mirostat: int = 0
    mirostat_tau: float = 5.0
    mirostat_eta: float = 0.1
    adaptive_target: float = -1.0
    adaptive_decay: float = 0.9
    min_keep: int = 0
    n_probs: int = 0
    post_sampling_probs: bool = False
    samplers: tuple[str, ...] = DEFAULT_SAMPLERS
    logit_bias: tuple[tuple[int, float], ...] = ()
    ignore_eos: bool = False
