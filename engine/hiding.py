"""Takes known secrets out of texts, such as what a server says of itself or quotes in an error."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

__all__ = ["hiding"]


def hiding(secrets: Iterable[str]) -> Callable[[str], str]:
    """A function that puts ``***`` in place of each secret in a text, but not inside of longer words."""
    longest_first = sorted({*secrets}, key=len, reverse=True)
    if not longest_first:
        return str
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")
    return lambda text: pattern.sub("***", text)
