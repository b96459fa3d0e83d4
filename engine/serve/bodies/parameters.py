"""The pairs of names and values behind a media type, or in a form's heads, by cpp-httplib's rules."""

from __future__ import annotations

import re

__all__ = ["read_parameters"]

PIECE = re.compile(rb'(?:[^;"]|"[^"]*(?:"|\Z))+')
BLANKS = b" \t"


def read_parameters(text: bytes) -> dict[bytes, bytes]:
    """The values by name, of several the first one. A ``;`` between quotes parts nothing."""
    found: dict[bytes, bytes] = {}
    for piece in PIECE.findall(text):
        name, _, value = piece.partition(b"=")
        if name.strip(BLANKS):
            found.setdefault(_bare(name), _bare(value))
    return found


def _bare(word: bytes) -> bytes:
    """The word without blanks around it, and then without the quotes around it."""
    word = word.strip(BLANKS)
    return word[1:-1] if len(word) > 1 and word.startswith(b'"') and word.endswith(b'"') else word
