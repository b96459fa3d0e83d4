"""Takes known secrets out of texts, such as what a server says of itself or quotes in an error."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

__all__ = ["hiding"]

SHORT = 8
"""Characters below which a secret may be part of an ordinary word."""


def hiding(secrets: Iterable[str]) -> Callable[[str], str]:
    """A function that puts ``***`` in place of each secret in a text, but of short ones not inside of longer words."""
    longest_first = sorted({*secrets}, key=len, reverse=True)
    if not longest_first:
        return str
    pattern = re.compile("|".join(map(_pattern, longest_first)))
    return lambda text: pattern.sub("***", text)


def _pattern(secret: str) -> str:
    literal = re.escape(secret)
    return rf"(?<!\w){literal}(?!\w)" if len(secret) < SHORT else literal
