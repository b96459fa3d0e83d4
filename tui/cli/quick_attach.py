"""Parses ``attach`` with its everyday options without Typer; a test keeps the two in agreement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .attach import AttachOptions
from .screen import ScreenOptions

__all__ = ["UsualAttach", "read_attach"]

_TEXTS = ("--model", "--theme", "--api-key")
_NUMBERS = ("--interval", "--metrics-every", "--refresh")
_BACKOFF = {"--backoff": True, "--no-backoff": False}


class UsualAttach(NamedTuple):
    """What to watch, and how."""

    urls: list[str]
    options: AttachOptions
    screen: ScreenOptions


def read_attach(words: Sequence[str]) -> UsualAttach | None:
    """Parse the words after ``attach``; None if any of them is unusual: Typer knows them all, and explains."""
    urls: list[str] = []
    given: list[tuple[str, str]] = []
    backoff = True
    rest = iter(words)
    for word in rest:
        if word in _BACKOFF:
            backoff = _BACKOFF[word]
        elif not word.startswith("-"):
            urls.append(word)
        elif _takes(word, value := next(rest, "-")):
            given.append((word, value))
        else:
            return None
    return _assembled(urls, given, backoff)


def _takes(option: str, value: str) -> bool:
    """Whether this is an everyday option with a value that it takes."""
    if value.startswith("-"):
        return False
    return option in _TEXTS or (option in _NUMBERS and value.replace(".", "", 1).isdecimal())


def _assembled(urls: list[str], given: list[tuple[str, str]], backoff: bool) -> UsualAttach:
    """Put the options together; the last one of a name counts, except that there may be several models."""
    texts = dict(given)
    numbers = {name: float(value) for name, value in given if name in _NUMBERS}
    options = AttachOptions(
        models=tuple(value for name, value in given if name == "--model"),
        api_key=texts.get("--api-key"),
        interval=numbers.get("--interval"),
        metrics_every=numbers.get("--metrics-every"),
        backoff=backoff,
    )
    return UsualAttach(urls, options, ScreenOptions(numbers.get("--refresh"), texts.get("--theme")))
