"""``logit_bias`` and ``ignore_eos``: what is added to the logits of tokens (spec §8.3)."""

from __future__ import annotations

import math
import re

from msgspec.structs import replace

from slotview.engine.model.interface import Tokenizer
from slotview.engine.model.sampling_params import SamplingParams

from .fields import Fields, leading_integer, to_int32
from .json_text import as_f32

__all__ = ["biased"]

Bias = tuple[tuple[int, float], ...]
INTEGER_KEY = re.compile(r"[ \t-\r]*[+-]?[0-9]+")


def biased(sampling: SamplingParams, fields: Fields, base: Bias, tokenizer: Tokenizer) -> SamplingParams:
    """The sampling with its bias: the request's, or else the ``base`` of the command line.

    ``ignore_eos`` adds −inf for the tokens that end a generation: that of the request to either, that of the command
    line to the command line's alone. The sampler has nothing to add to it.
    """
    ends = tuple((token, -math.inf) for token in sorted(tokenizer.eog))
    if fields.raw("logit_bias") is None:
        bias = (*base, *ends) if sampling.ignore_eos else base
    else:
        bias = _logit_bias(fields.raw("logit_bias"), tokenizer)
    if fields.boolean("ignore_eos", default=False):
        bias = (*bias, *ends)
    return replace(sampling, logit_bias=bias, ignore_eos=False)


def _logit_bias(value: object, tokenizer: Tokenizer) -> Bias:
    """Pairs of token and bias from a list of pairs or an object; other shapes are ignored."""
    pairs: list[tuple[object, object]] = []
    if isinstance(value, list):
        pairs = [(item[0], item[1]) for item in value if isinstance(item, list) and len(item) == 2]
    elif isinstance(value, dict):
        pairs = [(_token_or_text(key), bias) for key, bias in value.items()]
    found: list[tuple[int, float]] = []
    for target, bias in pairs:
        amount = _bias(bias)
        if amount is None:
            continue
        found += [(token, amount) for token in _tokens(target, tokenizer)]
    return tuple(found)


def _token_or_text(key: str) -> object:
    """The key of an object: a token's number in C's spelling, where nothing is 0, or a text."""
    if not INTEGER_KEY.fullmatch(key):
        return key or 0
    return leading_integer(key)


def _bias(value: object) -> float | None:
    if isinstance(value, bool):
        return None if value else -math.inf
    return as_f32(value) if isinstance(value, int | float) else None


def _tokens(target: object, tokenizer: Tokenizer) -> list[int]:
    if isinstance(target, str):
        return [int(token) for token in tokenizer.encode(target, add_special=False, parse_special=False)]
    if isinstance(target, int) and not isinstance(target, bool) and 0 <= to_int32(target) < tokenizer.n_vocab:
        return [to_int32(target)]
    return []
