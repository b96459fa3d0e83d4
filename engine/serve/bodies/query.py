"""Pairs of names and values: the query of a target, and bodies as curl's ``-d`` announces them (spec §7.1)."""

from __future__ import annotations

from urllib.parse import unquote_plus

__all__ = ["LONGEST_QUERY_BODY", "read_query"]

LONGEST_QUERY_BODY = 1024 * 1024
"""Bytes of a body that is announced as pairs, be it JSON in truth; a longer one is refused."""


def read_query(text: str) -> dict[str, str]:
    """The values by name, of several the last one; a pair that is repeated letter for letter stays where it was."""
    pairs = dict.fromkeys(pair.strip(" \t") for pair in text.split("&"))
    parts = (pair.partition("=") for pair in pairs)
    return {unquote_plus(name): unquote_plus(value) for name, _, value in parts if name}
