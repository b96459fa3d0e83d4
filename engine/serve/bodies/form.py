"""``multipart/form-data``, whose text fields are taken as the members of an object (spec §7.1)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..http.heads import HEADER
from .json_text import UnreadableError
from .parameters import read_parameters

__all__ = ["Field", "members", "read_form"]

DISPOSITION = re.compile(rb"content-disposition:[ \t]*form-data;(.*)", re.IGNORECASE)
ENCODED_NAME = re.compile(rb"utf-8''.+", re.IGNORECASE)
LINE = b"\r\n"
MOST_PARTS = 1024
LONGEST_BOUNDARY = 70
Field = tuple[bytes, bytes]
"""Name and content of a text field."""


def read_form(data: bytes, content_type: str) -> list[Field]:
    """The text fields; those of files are passed over.

    Raises `UnreadableError` where the body has no boundary, no part, too many or no end, or a head that is none.
    """
    _, _, told = content_type.partition(";")
    boundary = read_parameters(told.encode("latin-1")).get(b"boundary", b"")
    if not 0 < len(boundary) <= LONGEST_BOUNDARY:
        raise UnreadableError(400)
    named = [(_name(head), content) for head, content in _parts(data, b"--" + boundary)]
    return [(name, content) for name, content in named if name is not None]


def _parts(data: bytes, border: bytes) -> list[tuple[bytes, bytes]]:
    """The heads and contents; what stands before the first part and after the last is passed over."""
    begun = data.find(border + LINE)
    place = begun + len(border)  # where the line of a border ends
    parts: list[tuple[bytes, bytes]] = []
    while begun >= 0 and data.startswith(LINE, place) and len(parts) < MOST_PARTS:
        head_end = data.find(LINE + LINE, place)  # a head may be empty
        content_end = data.find(LINE + border, head_end + 4) if head_end >= 0 else -1
        if content_end < 0:
            break
        parts.append((data[place:head_end], data[head_end + 4 : content_end]))
        place = content_end + len(LINE + border)
        if data.startswith(b"--", place):
            return parts
    raise UnreadableError(400)


def _name(head: bytes) -> bytes | None:
    """The name of a text field, empty where nothing names it; a file has none."""
    name = file = b""
    for line in head.split(LINE)[1:]:
        if not HEADER.fullmatch(line):
            raise UnreadableError(400)
        if told := DISPOSITION.fullmatch(line):
            given = read_parameters(told[1])
            encoded = given.get(b"filename*")
            if b"name" not in given or (encoded is not None and not ENCODED_NAME.fullmatch(encoded)):
                raise UnreadableError(400)
            name, file = given[b"name"], encoded or given.get(b"filename", file)
    return None if file else name


def members(fields: Sequence[Field]) -> dict[str, object]:
    """The contents by name; several of a name as a list. Raises `UnreadableError` for what is not UTF-8."""
    found: dict[str, list[str]] = {}
    for name, content in fields:
        found.setdefault(_text(name), []).append(_text(content))
    return {name: texts if len(texts) > 1 else texts[0] for name, texts in found.items()}


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnreadableError(500, f"[json.exception.type_error.316] {_ill_formed(error)}") from None


def _ill_formed(error: UnicodeDecodeError) -> str:
    if error.reason == "unexpected end of data":
        return f"incomplete UTF-8 string; last byte: 0x{error.object[-1]:02X}"
    place = error.start if error.reason == "invalid start byte" else error.end
    return f"invalid UTF-8 byte at index {place}: 0x{error.object[place]:02X}"
