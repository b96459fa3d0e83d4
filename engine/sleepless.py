"""A clock that goes on while this machine sleeps, as a server elsewhere does."""

from __future__ import annotations

import sys
import time

__all__ = ["sleepless"]

if sys.platform == "win32":
    sleepless = time.monotonic  # goes on there
else:
    _NAMES = {"linux": "CLOCK_BOOTTIME", "darwin": "CLOCK_MONOTONIC"}
    _CLOCK: int | None = getattr(time, _NAMES.get(sys.platform, ""), None)

    def sleepless() -> float:
        """Seconds since some moment. `time.monotonic` stands still meanwhile on Linux and macOS."""
        return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)
