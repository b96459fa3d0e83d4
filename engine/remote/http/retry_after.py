"""How long a server asks to be left alone: the header Retry-After, as a number of seconds or as a date."""

from __future__ import annotations

import time

__all__ = ["LONGEST_PAUSE", "pause_of"]

LONGEST_PAUSE = 3600.0
"""Seconds for which the wish is honoured."""


def pause_of(when: str, now: str = "") -> float | None:
    """Seconds that ``when`` asks for; None if it says nothing. ``now`` is the date on the server's own clock."""
    if not when:
        return None
    if when.isdecimal():
        return min(float(when), LONGEST_PAUSE)
    end, begin = _seconds(when), _seconds(now)
    if end is None:
        return None
    return min(max(end - (time.time() if begin is None else begin), 0.0), LONGEST_PAUSE)


def _seconds(date: str) -> float | None:
    """Seconds since 1970; None if it is no date."""
    from email.utils import parsedate_to_datetime

    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, OverflowError):
        return None
