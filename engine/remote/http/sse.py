"""Server-sent events from the bytes of a stream, however they are split (spec §7.9)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["LONGEST", "events"]

LONGEST = 8 * 1024 * 1024
"""Bytes of a line above which we do not wait for its end."""

_END = re.compile(rb"\r\n|\n|\r")
_FIELD = re.compile(rb"(?:\xef\xbb\xbf)?(data|error):[ \t]*(.*)", re.DOTALL)


def events(parts: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Yield each ``data:`` object up to ``[DONE]``, and each ``error:`` line (builds of 2024 and 2025) as if in one.

    Comments, ``null`` and what cannot be read are passed over. Raises `ValueError` at a line over `LONGEST`.
    """
    for name, value in filter(None, map(_field, _lines(parts))):
        if value.strip() == b"[DONE]":
            return
        told = _json(value)
        if name == b"error":
            yield {"error": told if told is not None else value.decode("utf-8", "replace")}
        elif isinstance(told, dict):
            yield told


def _lines(parts: Iterable[bytes]) -> Iterator[bytes]:
    pieces: list[bytes] = []
    size = 0
    for part in parts:
        first, *more = _END.split(part)
        pieces.append(first)
        size += len(first)
        if more:
            yield b"".join(pieces)
            *lines, last = more
            yield from lines
            pieces, size = [last], len(last)
        if size > LONGEST:
            raise ValueError(f"a line over {LONGEST >> 20} MB instead of events")
    yield b"".join(pieces)


def _field(line: bytes) -> tuple[bytes, bytes] | None:
    match = _FIELD.fullmatch(line)
    return None if match is None else (match[1], match[2])


def _json(text: bytes) -> object:
    try:
        return json.loads(text.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
