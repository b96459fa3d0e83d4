"""``multipart/form-data``, whose text fields are taken as the members of an object (spec §7.1)."""

from __future__ import annotations

import re

from .body import UnreadableError

__all__ = ["read_form"]

BOUNDARY = re.compile(r'boundary=(?:"([^"]+)"|([^";,]+))', re.IGNORECASE)
DISPOSITION = re.compile(rb"content-disposition:[ \t]*form-data;(.*)", re.IGNORECASE)
PARAMETER = re.compile(rb'(?<!\w)(\w+)=(?:"([^"]*)"|([^;]*))')
LINE = b"\r\n"
MOST_PARTS = 1024


def read_form(data: bytes, content_type: str) -> dict[str, object]:
    """The text fields by their names; several of a name as a list.

    Raises `UnreadableError` where the body has no boundary, no part, too many or no end.
    """
    told = BOUNDARY.search(content_type)
    if told is None:
        raise UnreadableError(400)
    border = b"--" + (told[1] or told[2]).strip().encode("latin-1")
    found: dict[str, list[str]] = {}
    for head, content in _parts(data, border):
        name = _name(head)
        if name is not None:
            found.setdefault(name, []).append(content.decode("utf-8", "replace"))
    return {name: texts if len(texts) > 1 else texts[0] for name, texts in found.items()}


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


def _name(head: bytes) -> str | None:
    """The name of a text field; a file's part, and one of another kind, has none."""
    for line in head.split(LINE):
        if found := DISPOSITION.fullmatch(line):
            named = {name.lower(): quoted or bare for name, quoted, bare in PARAMETER.findall(found[1])}
            name: bytes | None = None if named.get(b"filename") else named.get(b"name")
            return None if name is None else name.decode("utf-8", "replace")
    return None
