"""Single values from untrusted JSON; what cannot be read is None, whatever its type."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from slotview.engine.text.plain import plain

__all__ = ["MAX_COUNT", "as_bool", "as_count", "as_int", "as_map", "as_number", "as_text", "first", "is_plain"]

MAX_COUNT = 2**53
"""From here on a count is nonsense: no server holds that many tokens, and a double can no longer count in ones."""


_WORDS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def as_number(value: object) -> float | None:
    """A finite number, also from a string."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value) if not isinstance(value, str) or is_plain(value) else math.nan
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def is_plain(text: str) -> bool:
    """Whether it has no digits of other scripts and no underscores, which Python reads as numbers, too."""
    return text.isascii() and "_" not in text


def as_int(value: object) -> int | None:
    """A whole number below `MAX_COUNT`, and above its negative; 2.0 and "2" count as 2."""
    number = as_number(value)
    if number is None or not number.is_integer() or abs(number) >= MAX_COUNT:
        return None
    return int(number)


def as_count(value: object) -> int | None:
    """A whole number that is not negative."""
    if type(value) is int and 0 <= value < MAX_COUNT:  # nearly always, and hundreds of times a look
        return value
    number = as_int(value)
    return None if number is None or number < 0 else number


def as_bool(value: object) -> bool | None:
    """A boolean; 0, 1 and words such as "on" count, too."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _WORDS.get(value.strip().lower())
    return bool(value) if value in (0, 1) and isinstance(value, int | float) else None


def as_text(value: object, limit: int = 300) -> str | None:
    """A string, made harmless; an empty one is None."""
    return plain(value, limit) or None if isinstance(value, str) else None


def as_map(value: object) -> Mapping[str, Any]:
    """An object, or an empty one."""
    return value if isinstance(value, dict) else {}


def first(row: Mapping[str, Any], *names: str) -> object:
    """The first value that is present and not null, of the names that a field has had over the years."""
    for name in names:
        if (value := row.get(name)) is not None:
            return value
    return None
