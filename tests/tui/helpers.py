"""What the screen tests share: an app over a fake backend, and the text that stands on a screen."""

from __future__ import annotations

import time
from contextlib import AbstractAsyncContextManager
from typing import Any

from textual.app import App
from textual.pilot import Pilot

from slotview.engine.backend import RetuneMode
from slotview.engine.snapshot import Snapshot
from slotview.tui.app import SlotviewApp
from tests.fake_backend import FakeBackend
from tests.tui.scenes import WORKING

SIZES = [(80, 24), (120, 36), (200, 50)]
NEVER = 3600.0
PATIENCE = 10.0


def make_app(
    scene: Snapshot = WORKING, *, retune: RetuneMode = RetuneMode.LIVE, refresh: float = NEVER, **can: object
) -> tuple[SlotviewApp, FakeBackend]:
    """An app that looks only when a test says so, and its backend."""
    backend = FakeBackend(scene, retune, **can)
    return SlotviewApp(backend, refresh=refresh), backend


def text_of(app: App[Any]) -> str:
    """All that stands on the open screen, line by line."""
    return "\n".join(strip.text.rstrip() for strip in app.screen._compositor.render_strips())


async def look(pilot: Pilot[None]) -> None:
    """Let the dashboard look once, and show it."""
    app = pilot.app
    assert isinstance(app, SlotviewApp)
    app.dashboard.look()
    await pilot.pause()


def run(app: SlotviewApp, size: tuple[int, int]) -> AbstractAsyncContextManager[Pilot[None]]:
    """Run an app without a terminal, toasts included."""
    return app.run_test(size=size, notifications=True)


async def assert_shows(pilot: Pilot[None], words: str) -> None:
    """Wait until words stand on the screen, however the lines are broken."""
    end = time.monotonic() + PATIENCE
    while words not in (seen := " ".join(text_of(pilot.app).split())):
        assert time.monotonic() < end, f"{words!r} does not stand on the screen: {seen}"
        await pilot.pause()
