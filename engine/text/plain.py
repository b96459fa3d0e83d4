"""Makes text from outside harmless before it reaches a terminal, a log or a message."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["SUBSTITUTE", "plain"]

SUBSTITUTE = "\u2426"
"""Replaces a character that a terminal would obey, hide, or measure differently from us; one cell wide."""

_MAX_MARKS = 2
"""Accents kept on one letter; more of them would climb into the lines above."""

# Printable by their category, but without a width of their own: joiners, fillers, variation selectors, conjoining
# Hangul, and the skin tones that melt into the emoji before them.
_WIDTHLESS = re.compile(
    "[\u034f\u115f\u1160-\u11ff\u17b4\u17b5\u180b-\u180f\u3164\ud7b0-\ud7ff\ufe00-\ufe0f\uffa0"
    "\U0001f3fb-\U0001f3ff\U000e0100-\U000e01ef]"
)
_CUT = "\u2026"


def plain(text: str, limit: int = 500, *, keep_newlines: bool = False) -> str:
    """Return ``text`` as at most ``limit`` harmless printable characters, the last one "…" if it was cut.

    Control characters become their pictures (from U+2400), what would reorder, hide or change widths becomes
    `SUBSTITUTE`, unusual spaces become a space. Ordinary text in any language passes. ``keep_newlines`` keeps line
    feeds.
    """
    head = text[: limit + 1]
    if not (head.isprintable() and (head.isascii() or _is_calm(head))):
        head = _replaced(head, keep_newlines)
    return head if len(text) <= limit else head[: max(0, limit - 1)] + _CUT


def _is_calm(text: str) -> bool:
    """Whether printable text has neither widthless characters nor accents on accents."""
    return _WIDTHLESS.search(text) is None and not any(map(unicodedata.combining, text))


def _replaced(text: str, keep_newlines: bool) -> str:
    out: list[str] = []
    marks = 0
    for char in text:
        marks = marks + 1 if unicodedata.category(char)[0] == "M" else 0
        out.append(char if keep_newlines and char == "\n" else _safe(char, marks))
    return "".join(out)


def _safe(char: str, marks: int) -> str:
    code = ord(char)
    if code < 32:
        return chr(0x2400 + code)
    if code == 127:
        return "\u2421"
    if unicodedata.category(char) == "Zs":
        return " "
    if not char.isprintable() or marks > _MAX_MARKS or _WIDTHLESS.match(char):
        return SUBSTITUTE
    return char
