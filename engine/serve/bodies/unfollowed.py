"""Fields about reasoning, grammars and adapters: checked as llama-server does and shown again, without effect here."""

from __future__ import annotations

import json
from collections.abc import Mapping

from msgspec import Struct

from slotview.engine.model.interface import Tokenizer

from ..errors import ApiError
from .fields import Fields, to_int32, wrong_type
from .json_text import as_f32
from .json_words import items_of, no_key, no_object

__all__ = ["REASONING_FORMATS", "Unfollowed", "check_adapters", "read_unfollowed"]

CHAT_FORMATS = ("Content-only", "peg-simple", "peg-native", "peg-gemma4", "peg-minimax-m3")
REASONING_FORMATS = ("none", "auto", "deepseek", "deepseek-legacy")
TRIGGER_TOKEN, TRIGGER_WORD = 0, 1  # types of what starts a lazy grammar


class Unfollowed(Struct, frozen=True):
    """``shown``: the fields as /slots shows them. ``preserved``: special tokens whose text an answer carries."""

    shown: Mapping[str, object]
    preserved: frozenset[int]


def read_unfollowed(fields: Fields, tokenizer: Tokenizer, reasoning_format: str) -> Unfollowed:
    """Check them in the server's order; ``reasoning_format`` is the default. Raises `ApiError`."""
    backend = fields.boolean("backend_sampling", default=False)
    adapters = _adapters(fields.raw("lora"))
    if fields.raw("grammar") is None:
        _check_schema(fields.raw("json_schema"))
    lazy = fields.boolean("grammar_lazy", default=False)
    chat_format = fields.integer("chat_format", default=0)
    reasoning_format = fields.string("reasoning_format", default=reasoning_format)
    if reasoning_format not in REASONING_FORMATS:
        raise ApiError(f"Field 'reasoning_format': Unknown reasoning format: {reasoning_format}")
    generation_prompt = fields.string("generation_prompt", default="")
    fields.boolean("parse_tool_calls", default=False)
    _check_parser(fields)
    fields.boolean("echo", default=False)
    preserved = _preserved(fields.raw("preserved_tokens"), tokenizer)
    triggers = [_trigger(item, preserved, tokenizer) for item in items_of(fields.raw("grammar_triggers"))]
    fields.boolean("reasoning_control", default=False)
    fields.integer("reasoning_budget_tokens", default=-1, low=-1)
    for name in ("reasoning_budget_start_tag", "reasoning_budget_end_tag"):
        fields.string(name, default="")
    if not 0 <= chat_format < len(CHAT_FORMATS):
        raise ApiError("Unknown chat format", "server_error")
    shown = {
        "backend_sampling": backend,
        "chat_format": CHAT_FORMATS[chat_format],
        "generation_prompt": generation_prompt,
        "grammar_lazy": lazy,
        "grammar_triggers": triggers,
        "lora": adapters,
        "preserved_tokens": sorted(preserved),
        "reasoning_format": reasoning_format,
    }
    return Unfollowed(shown, preserved)


def check_adapters(value: object) -> None:
    """Raise `ApiError` where ``lora`` is no list, which the server checks before the fields of `read_unfollowed`."""
    if value is not None and not isinstance(value, list):
        raise ApiError("Field 'lora': Error: 'lora' must be an array of objects with 'id' and 'scale' fields")


def _adapters(value: object) -> list[dict[str, object]]:
    """The scale asked for each adapter, by its id; none is loaded, so that this changes nothing."""
    if not isinstance(value, list):
        return []
    asked = [Fields(item if isinstance(item, dict) else {}) for item in value]
    scales = {one.lenient("id", default=-1): as_f32(one.lenient("scale", default=0.0)) for one in asked}
    return [{"id": number, "scale": scales[number]} for number in sorted(scales)]


def _check_schema(value: object) -> None:
    if value is not None and not isinstance(value, dict):
        why = "JSON schema conversion failed:\nJSON schema error at #: schema must be an object"
        raise ApiError(f"Field 'json_schema': \"json_schema\": {why}")


def _check_parser(fields: Fields) -> None:
    if fields.raw("chat_parser") is None:
        return
    try:
        parser = json.loads(fields.string("chat_parser", default=""))
    except (ValueError, RecursionError):
        raise ApiError("Field 'chat_parser': [json.exception.parse_error.101] parse error") from None
    if not isinstance(parser, dict) or not isinstance(parser.get("parsers"), list):
        raise ApiError("Field 'chat_parser': JSON missing or invalid 'parsers' array")


def _preserved(value: object, tokenizer: Tokenizer) -> frozenset[int]:
    """The tokens of those words that are a single token."""
    found: set[int] = set()
    for word in items_of(value):
        if not isinstance(word, str):
            raise wrong_type("preserved_tokens", "string", word)
        tokens = tokenizer.encode(word, add_special=False)
        found.update(int(token) for token in tokens if len(tokens) == 1)
    return frozenset(found)


def _trigger(item: object, preserved: frozenset[int], tokenizer: Tokenizer) -> dict[str, object]:
    """One trigger of a lazy grammar as it is shown: a word that is a single token becomes that token."""
    kind = to_int32(_number(_member(item, "type")))
    value = _member(item, "value")
    if not isinstance(value, str):
        raise wrong_type("grammar_triggers", "string", value)
    shown: dict[str, object] = {"type": kind, "value": value}
    if kind == TRIGGER_TOKEN:
        return shown | {"token": to_int32(_number(_member(item, "token")))}
    if kind != TRIGGER_WORD:
        return shown
    tokens = tokenizer.encode(value, add_special=False)
    if len(tokens) != 1:
        return shown
    if int(tokens[0]) not in preserved:
        why = f"Grammar trigger word should be marked as preserved token: {value}"
        raise ApiError(f"Field 'grammar_triggers': {why}")
    return {"type": TRIGGER_TOKEN, "value": value, "token": int(tokens[0])}


def _member(item: object, name: str) -> object:
    """A member of a trigger. Raises `ApiError`."""
    if not isinstance(item, dict):
        raise ApiError(f"Field 'grammar_triggers': {no_object(item)}")
    if name not in item:
        raise ApiError(f"Field 'grammar_triggers': {no_key(name)}")
    return item[name]


def _number(value: object) -> float:
    if not isinstance(value, int | float):
        raise wrong_type("grammar_triggers", "number", value)
    return value
