"""Templates with choices: ``[red|blue] {thing}`` becomes ``red kite`` or ``blue kite``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from random import Random

__all__ = ["expand", "tidy"]

_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_SENTENCE_START = re.compile(r"(^|[.!?]\s+|\.\"\s+|[\"\n])([a-z])")
_ME = re.compile(r"\bi\b")
_ARTICLE = re.compile(r"\b([Aa]) (?=[aeio])")


def expand(template: str, rng: Random, fields: Mapping[str, str] | None = None) -> str:
    """Pick one option in every ``[a|b]``, innermost first, then fill the ``{name}`` fields."""
    text = template
    while "[" in text:
        text = _CHOICE.sub(lambda match: rng.choice(match[1].split("|")), text)
    return text.format_map(fields or {})


def tidy(sentences: str) -> str:
    """Join blanks, write ``an owl`` and ``I``, and start every sentence with a capital letter."""
    text = re.sub(r" +", " ", sentences).strip()
    text = _ME.sub("I", _ARTICLE.sub(r"\1n ", text))
    return _SENTENCE_START.sub(lambda match: match[1] + match[2].upper(), text)
