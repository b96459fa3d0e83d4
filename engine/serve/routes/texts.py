"""Small helpers over HTTP: tokenize, detokenize, apply-template (spec §7.12)."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from slotview.engine.model.interface import Tokenizer

from ..bodies.fields import lenient, to_int32
from ..bodies.json_words import not_of_type
from ..bodies.remarks import remark
from ..bodies.request import read_members, state_of
from ..chat.prompt import read_chat
from ..errors import ApiError, ThrownError
from ..replies import json_reply

__all__ = ["apply_template", "control", "detokenize", "tokenize"]


async def tokenize(request: Request) -> Response:
    """POST /tokenize."""
    tokenizer = state_of(request).model.tokenizer
    body = await read_members(request)
    if "content" not in body:
        return json_reply({"tokens": []})
    flags = {
        "add_special": lenient(body, "add_special", default=False),
        "parse_special": lenient(body, "parse_special", default=True),
    }
    if lenient(body, "with_pieces", default=False):
        return await asyncio.to_thread(_reply_with_pieces, body["content"], tokenizer, flags)
    return await asyncio.to_thread(_reply_with_tokens, body["content"], tokenizer, flags)


def _reply_with_tokens(content: object, tokenizer: Tokenizer, flags: dict[str, bool]) -> Response:
    return json_reply({"tokens": _tokens(content, tokenizer, flags)})


def _reply_with_pieces(content: object, tokenizer: Tokenizer, flags: dict[str, bool]) -> Response:
    tokens = _tokens(content, tokenizer, flags)
    return json_reply({"tokens": [{"id": token, "piece": _piece(token, tokenizer)} for token in tokens]})


def _tokens(content: object, tokenizer: Tokenizer, flags: dict[str, bool]) -> list[int]:
    """Tokens of a text, or of a list of texts and tokens, the first of which may begin with special ones."""
    pieces = [content] if isinstance(content, str) else content
    if not isinstance(pieces, list):
        raise ThrownError(not_of_type("string", content))
    tokens: list[int] = []
    for place, piece in enumerate(pieces):
        if isinstance(piece, str):
            add = flags["add_special"] and place == 0
            parse = flags["parse_special"]
            tokens += tokenizer.encode(piece, add_special=add, parse_special=parse).tolist()
        elif isinstance(piece, int | float):
            tokens.append(to_int32(piece))
        else:
            raise ThrownError(not_of_type("number", piece))
    return tokens


def _piece(token: int, tokenizer: Tokenizer) -> object:
    """The text of a token, or its bytes where they are no text of their own."""
    _check_range(token, tokenizer)
    piece = tokenizer.piece(token, special=True)
    try:
        return piece.decode("utf-8")
    except UnicodeDecodeError:
        return list(piece)


async def detokenize(request: Request) -> Response:
    """POST /detokenize."""
    tokenizer = state_of(request).model.tokenizer
    body = await read_members(request)
    return await asyncio.to_thread(_reply_with_text, body.get("tokens", []), tokenizer)


def _reply_with_text(tokens: object, tokenizer: Tokenizer) -> Response:
    if not isinstance(tokens, list):
        raise ThrownError(not_of_type("array", tokens))
    for token in tokens:
        if not isinstance(token, int | float):
            raise ThrownError(not_of_type("number", token))
    ids = [to_int32(token) for token in tokens]
    for token in ids:
        _check_range(token, tokenizer)
    return json_reply({"content": tokenizer.decode(ids, special=True)})


def _check_range(token: int, tokenizer: Tokenizer) -> None:
    """Raise `ThrownError` in the C++ library's words, which the server sends as they are."""
    size = tokenizer.n_vocab
    if not 0 <= token < size:
        why = f"vector::_M_range_check: __n (which is {token % 2**64}) >= this->size() (which is {size})"
        raise ThrownError(why, "server_error")


async def apply_template(request: Request) -> Response:
    """POST /apply-template."""
    state = state_of(request)
    body = await read_members(request)
    prompt = await asyncio.to_thread(read_chat, body, state.model.tokenizer, state.chat_template, state.chat_rules)
    return json_reply({"prompt": prompt.text})


async def control(request: Request) -> Response:
    """POST /v1/chat/completions/control: no completion is controlled here."""
    body = await read_members(request)
    name, action = lenient(body, "id", ""), lenient(body, "action", "")
    if not name:
        raise ApiError("missing completion id")
    if action != "reasoning_end":
        raise ApiError("unknown control action")
    remark(f"srv  process_sing: control reasoning_end on unknown completion id={name}, no live slot")
    return json_reply({"success": False, "message": "no active completion for this id"})
