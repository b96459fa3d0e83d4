"""Tells which words of a command line are options of the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slotview.engine.flags.flag import Kind
from slotview.engine.flags.table import FLAGS

__all__ = ["TAKE_VALUE", "split_words"]

TAKE_VALUE = frozenset(name for flag in FLAGS if flag.kind is not Kind.SWITCH for name in flag.names)
"""The engine's options that are followed by a value."""


def split_words(words: Sequence[str], own_options: Mapping[str, bool]) -> tuple[list[str], list[str]]:
    """Separate a command's own words from the engine's options and their values; what follows ``--`` is its own.

    ``own_options``: the command's options, and whether each takes a value.
    """
    own: list[str] = []
    engine: list[str] = []
    place = 0
    while place < len(words) and words[place] != "--":
        word = words[place]
        n = 2 if word in TAKE_VALUE or own_options.get(word) else 1
        is_own = not word.startswith("-") or word.partition("=")[0] in own_options
        (own if is_own else engine).extend(words[place : place + n])
        place += n
    return [*own, *words[place:]], engine
