"""Reads ``attach`` with its everyday options without Typer; a test holds the two readings together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .start import AttachOptions

__all__ = ["UsualAttach", "read_attach"]

_TEXTS = ("--theme", "--api-key")
_NUMBERS = ("--interval", "--metrics-every", "--refresh")
_BACKOFF = {"--backoff": True, "--no-backoff": False}


class UsualAttach(NamedTuple):
    """What to watch and how; ``refresh`` is seconds between looks of the screen."""

    urls: list[str]
    options: AttachOptions
    refresh: float | None
    theme: str | None


def read_attach(words: Sequence[str], environ: Mapping[str, str]) -> UsualAttach | None:
    """Read the words after ``attach``; None where any of them is not as usual: Typer knows them all, and explains."""
    urls: list[str] = []
    models: list[str] = []
    texts: dict[str, str] = {}
    numbers: dict[str, float] = {}
    backoff = True
    rest = iter(words)
    for word in rest:
        if word in _BACKOFF:
            backoff = _BACKOFF[word]
        elif not word.startswith("-"):
            urls.append(word)
        elif (value := next(rest, "-")).startswith("-"):
            return None
        elif word == "--model":
            models.append(value)
        elif word in _TEXTS:
            texts[word] = value
        elif word in _NUMBERS and _is_number(value):
            numbers[word] = float(value)
        else:
            return None
    options = AttachOptions(
        tuple(models),
        texts.get("--api-key", environ.get("LLAMA_API_KEY") or None),
        numbers.get("--interval"),
        numbers.get("--metrics-every"),
        backoff,
    )
    return UsualAttach(urls, options, numbers.get("--refresh"), texts.get("--theme"))


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal()
