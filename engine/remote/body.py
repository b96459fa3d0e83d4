"""From an answer's bytes to JSON without stalling the other threads, however large or broken it is."""

from __future__ import annotations

import json
import re

__all__ = ["LARGE", "NotJsonError", "looks_like_html", "parse_json", "strip_texts"]

LARGE = 64 * 1024
"""Bytes above which long texts are cut out before parsing, since a parser holds the interpreter while it works."""

_TEXT_KEY = re.compile(rb'"(?:prompt|generated)"\s*:\s*"')
_HTML = re.compile(rb"\s*<(?:!doctype|html|head|body|!--|\?xml)", re.IGNORECASE)


class NotJsonError(ValueError):
    """The body is no JSON; the text says what it is instead."""


def looks_like_html(body: bytes) -> bool:
    """Whether the body is a web page."""
    return _HTML.match(body[:200]) is not None


def parse_json(body: bytes, *, keep_texts: bool = False) -> object:
    """Parse a body; raises `NotJsonError`.

    Prompts and answers inside a large body (debug mode, builds of 2024) are emptied first unless ``keep_texts``.
    """
    if looks_like_html(body):
        raise NotJsonError("a web page instead of JSON")
    if len(body) > LARGE:
        return _parse_large(body if keep_texts else strip_texts(body))
    return _parse(body)


def strip_texts(body: bytes) -> bytes:
    """Empty the ``prompt`` and ``generated`` strings, in short steps that let other threads in between."""
    parts: list[bytes] = []
    done = 0
    while match := _TEXT_KEY.search(body, done):
        parts.append(body[done : match.end()])
        done = _end_of_string(body, match.end())
    parts.append(body[done:])
    return b"".join(parts)


def _end_of_string(body: bytes, start: int) -> int:
    """Index of the quote that closes the string whose content begins at ``start``."""
    quote = body.find(b'"', start)
    while quote >= 0 and _backslashes(body, start, quote) % 2:
        quote = body.find(b'"', quote + 1)
    return len(body) if quote < 0 else quote


def _backslashes(body: bytes, start: int, end: int) -> int:
    """How many backslashes stand before ``end``."""
    at = end
    while at > start and body[at - 1] == 0x5C:
        at -= 1
    return end - at


def _parse_large(body: bytes) -> object:
    """The faster parser holds the interpreter for half the time; what it refuses the tolerant one may read."""
    from pydantic_core import from_json

    try:
        return from_json(body, cache_strings="keys")
    except ValueError:
        return _parse(body)


def _parse(body: bytes) -> object:
    text = body.decode("utf-8-sig", "replace")
    try:
        return _loads(text)
    except RecursionError:
        raise NotJsonError("nested too deeply") from None
    except json.JSONDecodeError as error:
        raise NotJsonError("empty" if not text.strip() else f"no JSON, or cut off (at character {error.pos})") from None


def _loads(text: str) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError:  # a number of thousands of digits
        return json.loads(text, parse_int=_short_int)


def _short_int(digits: str) -> int | None:
    return int(digits) if len(digits) < 20 else None
