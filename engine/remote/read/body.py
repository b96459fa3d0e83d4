"""From the bytes of an answer to JSON, without stalling other threads, however large or broken it is."""

from __future__ import annotations

import json
import re
from contextlib import suppress

import msgspec

from slotview.engine.text.plain import plain

__all__ = ["LARGE", "NotJsonError", "heading", "looks_like_html", "parse_json", "strip_texts"]

LARGE = 512 * 1024
"""Bytes above which a body is parsed in pieces, since a parser holds the interpreter's lock while it works."""

_PIECE = 256 * 1024
_TEXT_KEY = re.compile(rb'"(?:prompt|generated)"\s*:\s*"')
_IN_STRING = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
_BLANKS = re.compile(r"[ \t\r\n]*")
_HTML = re.compile(rb"\s*<(?:!doctype|html|head|body|!--|\?xml)", re.IGNORECASE)
_HEADING = re.compile(rb"<(title|h1)\b[^>]*>(?P<words>[^<]*\w[^<]*)</\1>", re.IGNORECASE)


class NotJsonError(ValueError):
    """The body is not JSON; the text says what it is instead."""


def looks_like_html(body: bytes) -> bool:
    """Whether the body is a web page."""
    return _HTML.match(body[:200]) is not None


def heading(body: bytes) -> str:
    """The title of a web page, or its first headline, as one harmless line; empty if it has none."""
    found = _HEADING.search(body[:4000])
    return plain(" ".join(found["words"].decode("utf-8", "replace").split()), 200) if found else ""


def parse_json(body: bytes, *, keep_texts: bool = False) -> object:
    """Parse a body. Raises `NotJsonError`.

    Inside a large body (debug mode, builds of 2024) prompts and answers are emptied first, and lists in ``params`` are
    dropped, unless ``keep_texts``.
    """
    if looks_like_html(body):
        title = heading(body)
        raise NotJsonError("a web page instead of JSON" + (f": {title}" if title else ""))
    large = len(body) > LARGE
    if not large:
        with suppress(msgspec.DecodeError, RecursionError):  # it is stricter than some writers of JSON are
            return msgspec.json.decode(body)
    text = (strip_texts(body) if large and not keep_texts else body).decode("utf-8-sig", "replace")
    try:
        return _loads(text, large, keep_texts)
    except RecursionError:
        raise NotJsonError("nested too deeply") from None
    except json.JSONDecodeError as error:
        what = f"no JSON, or cut off (at character {error.pos})" if text.strip() else "an empty body"
        raise NotJsonError(what) from None


def strip_texts(body: bytes) -> bytes:
    """Empty the ``prompt`` and ``generated`` strings, in short steps between which other threads can run."""
    parts: list[bytes] = []
    done = 0
    while match := _TEXT_KEY.search(body, done):
        parts.append(body[done : match.end()])
        done = _end_of_string(body, match.end())
    parts.append(body[done:])
    return b"".join(parts)


def _end_of_string(body: bytes, start: int) -> int:
    """Index of the quote that closes the string whose content begins at ``start``, or the end of the body."""
    at = start
    while at < len(body) and body[at] != 0x22:
        match = _IN_STRING.match(body, at, at + _PIECE)
        if match is None or match.end() == at:  # a backslash as the very last byte
            return len(body)
        at = match.end()
    return at


def _loads(text: str, large: bool, keep: bool) -> object:
    def load(decoder: json.JSONDecoder) -> object:
        return _load_rows(decoder, text, keep) if large else decoder.decode(text)

    try:
        return load(json.JSONDecoder(strict=False))  # some write line breaks within a text as they are
    except json.JSONDecodeError:
        raise
    except ValueError:  # a number of thousands of digits
        return load(json.JSONDecoder(parse_int=_short_int, strict=False))


def _load_rows(decoder: json.JSONDecoder, text: str, keep: bool) -> object:
    """Parse the elements of an array one by one; anything else at once."""
    at = _skip_blanks(text, 0)
    if text[at : at + 1] != "[" or text.startswith("]", _skip_blanks(text, at + 1)):
        return decoder.decode(text)
    rows = []
    while text[at : at + 1] in ("[", ","):
        row, end = decoder.raw_decode(text, _skip_blanks(text, at + 1))
        rows.append(row if keep else _lighter(row))
        at = _skip_blanks(text, end)
    if text[at:].rstrip() != "]":
        raise json.JSONDecodeError("Expecting ',' delimiter", text, at)
    return rows


def _lighter(row: object) -> object:
    """A row without its long parts, so that thousands of objects need not be kept at once."""
    if isinstance(row, dict) and isinstance(params := row.get("params"), dict):
        row["params"] = {key: value for key, value in params.items() if not isinstance(value, list | dict)}
    return row


def _skip_blanks(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    return at if match is None else match.end()


def _short_int(digits: str) -> int | None:
    return int(digits) if len(digits) < 20 else None
