"""From one word of the command line or the environment to the value of a flag."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from .flag import Flag, Kind
from .words import decimal, whole

__all__ = ["FALSE_WORDS", "TRUE_WORDS", "FlagError", "boolean", "converted"]

TRUE_WORDS = ("on", "enabled", "true", "1")
FALSE_WORDS = ("off", "disabled", "false", "0")

T = TypeVar("T")


class FlagError(ValueError):
    """A flag that cannot be used; the text is one line, in llama-server's words if it has any."""


def boolean(text: str) -> bool:
    """The value of a switch in the environment. Raises `FlagError`."""
    if text in TRUE_WORDS:
        return True
    if text in FALSE_WORDS:
        return False
    raise FlagError("invalid boolean value")


def converted(flag: Flag, text: str) -> object:
    """The value that a word gives a flag, its range checked. Raises `FlagError`."""
    match flag.kind:
        case Kind.INT:
            return _number(flag, text, whole)
        case Kind.FLOAT:
            return _number(flag, text, decimal)
        case Kind.CHOICE:
            if text not in flag.choices:
                raise FlagError(
                    flag.complaint.format(text) or f"unknown value '{text}', one of {', '.join(flag.choices)}"
                )
            return flag.choices[text]
        case Kind.LIST:
            parts = (_read(flag.read, part) for part in text.split(","))
            return tuple(part for part in parts if part)
        case Kind.WORDS:
            return (_read(flag.read, text),)
        case _:
            return _read(flag.read, text)


def _read(read: Callable[[str], T], text: str) -> T:
    try:
        return read(text)
    except ValueError as error:
        raise FlagError(str(error)) from None


def _number(flag: Flag, text: str, read: Callable[[str], int | float]) -> int | float:
    value = _read(read, text)
    if (flag.low is not None and value < flag.low) or (flag.high is not None and value > flag.high):
        bounds = f"at least {flag.low}" if flag.high is None else f"between {flag.low} and {flag.high}"
        raise FlagError(flag.complaint or f"{text} must be {bounds}")
    return value
