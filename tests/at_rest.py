"""An app under test is waited for until it is at rest, not for a time: on a busy machine that is longer, else soon."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

__all__ = ["wait_for_rest"]

SOON = 0.02
UPDATE_PERIOD = 0.001


def wait_for_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a pilot wait for rest, and a screen draw at once what has changed."""
    monkeypatch.setattr("textual.app.wait_for_idle", _at_rest)
    monkeypatch.setattr("textual.pilot.wait_for_idle", _at_rest)
    monkeypatch.setattr("textual.screen.UPDATE_PERIOD", UPDATE_PERIOD)


async def _at_rest(min_sleep: float = 0.0, max_sleep: float = 1.0) -> None:
    """Wait until nothing is left to run and no timer ends soon; not longer than `max_sleep` seconds."""
    loop = cast("Any", asyncio.get_running_loop())
    end = loop.time() + max_sleep
    while loop.time() < end:
        await asyncio.sleep(0)
        if loop._ready:
            continue
        times = [timer.when() for timer in loop._scheduled if not timer.cancelled()]
        left = min(times, default=end + SOON) - loop.time()
        if left > SOON:
            break
        await asyncio.sleep(left)
