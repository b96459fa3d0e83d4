"""The shapes of ``prompt`` (spec §8.2)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from slotview.engine.model.interface import TokenIds, Tokenizer

from ..errors import ApiError
from .fields import INT64_MIN, to_int32
from .json_words import no_key, not_of_type

__all__ = ["read_prompts"]

WRONG_SHAPE = (
    '"prompt" elements must be a string, a list of tokens, a JSON object containing a prompt string, or a list of'
    " mixed strings & tokens."
)


def read_prompts(body: Mapping[str, object], tokenizer: Tokenizer) -> list[TokenIds]:
    """Tokenize the prompt or prompts of a body. Raises `ApiError` 400."""
    if "prompt" not in body:
        raise ApiError(no_key("prompt"))
    value = body["prompt"]
    if isinstance(value, str) or _is_mixed(value) or _is_object(value):
        return [_one(value, tokenizer)]
    if not isinstance(value, list):
        raise ApiError(WRONG_SHAPE)
    if not value:
        raise ApiError('"prompt" must not be empty')
    return [_one(item, tokenizer) for item in value]


def _one(value: object, tokenizer: Tokenizer) -> TokenIds:
    if isinstance(value, str):
        return tokenizer.encode(value)
    if isinstance(value, dict) and _is_object(value):
        return _of_object(value, tokenizer)
    if isinstance(value, list) and (_is_mixed(value) or not value):
        return _joined(value, tokenizer)
    raise ApiError(WRONG_SHAPE)


def _of_object(value: Mapping[str, object], tokenizer: Tokenizer) -> TokenIds:
    if "multimodal_data" in value:
        raise ApiError("Multimodal data provided, but model does not support multimodal requests.")
    text = value["prompt_string"]
    if isinstance(text, list):
        return _one(text, tokenizer)
    if not isinstance(text, str):
        raise ApiError(not_of_type("string", text))
    return tokenizer.encode(text)


def _is_object(value: object) -> bool:
    return isinstance(value, dict) and "prompt_string" in value


def _is_token(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and INT64_MIN <= value < 2**64


def _is_mixed(value: object) -> bool:
    """A list of token ids, or of token ids and strings: one prompt."""
    if not isinstance(value, list) or not value:
        return False
    return all(_is_token(item) or isinstance(item, str) for item in value) and any(map(_is_token, value))


def _joined(pieces: list[object], tokenizer: Tokenizer) -> TokenIds:
    """Join strings and ids; the beginning-of-text token only where a string comes first."""
    parts: list[TokenIds] = []
    for place, piece in enumerate(pieces):
        if isinstance(piece, str):
            parts.append(tokenizer.encode(piece, add_special=place == 0))
        elif isinstance(piece, int):
            parts.append(np.array([to_int32(piece)], np.int32))
    return np.concatenate(parts) if parts else np.empty(0, np.int32)
