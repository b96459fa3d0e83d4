"""A clock that goes on while this machine sleeps, as a server elsewhere does."""

from __future__ import annotations

import sys
import time

__all__ = ["sleepless"]


def _clock() -> int | None:
    """Its number; None where Python's own clock is one."""
    if sys.platform == "linux":
        return time.CLOCK_BOOTTIME
    return time.CLOCK_MONOTONIC if sys.platform == "darwin" else None


_CLOCK = _clock()


def sleepless() -> float:
    """Seconds since some moment. `time.monotonic` stands still meanwhile on Linux and macOS."""
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)
