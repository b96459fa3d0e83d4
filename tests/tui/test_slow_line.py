"""A terminal that takes its time is given no more than it can show."""

from __future__ import annotations

import os
import sys
from typing import Any, cast

import pytest
from msgspec.structs import replace
from textual.app import App
from textual.drivers._writer_thread import WriterThread

from slotview.tui import slow_line
from slotview.tui.screens import dashboard
from tests.tui.helpers import assert_shows, look, make_app, run, text_of
from tests.tui.scenes import WORKING


class Drawing:
    """As much of an app as writes to the terminal."""

    def __init__(self, writer: object) -> None:
        self._driver = self
        self._writer_thread = writer


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminal of this kind")
def test_a_terminal_is_behind_until_it_has_read_what_was_written() -> None:
    import pty

    ours, theirs = pty.openpty()
    with open(theirs, "w", encoding="utf-8") as terminal:
        writer = WriterThread(terminal)
        app = cast(App[Any], Drawing(writer))
        writer.start()
        assert not slow_line.is_behind(app)
        for _ in range(3):
            writer.write("x" * 1_000_000)
        assert slow_line.is_behind(app)
        left = 3_000_000
        while left:
            left -= len(os.read(ours, min(left, 65_536)))
        assert not slow_line.is_behind(app)
        writer.stop()
    os.close(ours)


def test_without_a_terminal_nothing_is_behind() -> None:
    assert not slow_line.is_behind(cast(App[Any], Drawing(None)))


async def test_what_came_meanwhile_is_shown_once_the_terminal_has_caught_up(monkeypatch: pytest.MonkeyPatch) -> None:
    app, backend = make_app()
    async with run(app, (80, 24)) as pilot:
        await assert_shows(pilot, "4 of 4 busy")
        monkeypatch.setattr(dashboard, "is_behind", lambda app: True)
        assert WORKING.slots
        backend.push(replace(WORKING, serial=99, slots=WORKING.slots[:2]))
        await look(pilot)
        assert "4 of 4 busy" in " ".join(text_of(app).split())
        monkeypatch.setattr(dashboard, "is_behind", lambda app: False)
        await look(pilot)
        await assert_shows(pilot, "2 of 2 busy")
