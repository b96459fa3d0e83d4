"""``multipart/form-data``, whose text fields are taken as the members of an object (spec §7.1)."""

from __future__ import annotations

import re

from .body import UnreadableError

__all__ = ["read_form"]

BOUNDARY = re.compile(r'boundary=(?:"([^"]+)"|([^";,]+))', re.IGNORECASE)
DISPOSITION = re.compile(rb"content-disposition:[ \t]*form-data;(.*)", re.IGNORECASE)
PARAMETER = re.compile(rb'(\w+)=(?:"([^"]*)"|([^;]*))')
LINE = b"\r\n"


def read_form(data: bytes, content_type: str) -> dict[str, object]:
    """The text fields by their names; several of a name as a list.

    Raises `UnreadableError` where the body has no boundary, no part or no end.
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
    _, begun, rest = data.partition(border + LINE)
    parts: list[tuple[bytes, bytes]] = []
    while begun:
        head, has_head, rest = (LINE + rest).partition(LINE + LINE)  # a head may be empty
        content, ended, rest = rest.partition(LINE + border)
        if not has_head or not ended:
            break
        parts.append((head, content))
        if rest.startswith(b"--"):
            return parts
        if not rest.startswith(LINE):
            break
        rest = rest.removeprefix(LINE)
    raise UnreadableError(400)


def _name(head: bytes) -> str | None:
    """The name of a text field; a file's part, and one of another kind, has none."""
    for line in head.split(LINE):
        if found := DISPOSITION.fullmatch(line):
            named = {name.lower(): quoted or bare for name, quoted, bare in PARAMETER.findall(found[1])}
            name: bytes | None = None if named.get(b"filename") else named.get(b"name")
            return None if name is None else name.decode("utf-8", "replace")
    return None
