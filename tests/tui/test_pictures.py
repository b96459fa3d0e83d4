"""Pictures of whole screens, compared with those a person has looked at (``--snapshot-update`` makes them anew)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from slotview.engine.backend import FireRequest, RetuneMode
from slotview.engine.snapshot import Snapshot
from slotview.tui.app import SlotviewApp
from slotview.tui.overview import OverviewApp
from tests.fake_backend import FakeBackend
from tests.tui.helpers import SIZES, make_app
from tests.tui.scenes import GONE, IDLE, REMOTE, WORKING

Compare = Callable[..., bool]


async def at_work(pilot: Pilot[None]) -> None:
    """Eight requests, four of them with text."""
    app = pilot.app
    assert isinstance(app, SlotviewApp)
    backend = app.backend
    assert isinstance(backend, FakeBackend)
    app.dashboard.fire([FireRequest("Once upon a time", count=8)])
    for number, ticket in enumerate(backend.tickets[:4]):
        ticket.say("there was a house", slot=number, task=11 + number, queue_wait=0.1, first_token=0.4, n_decoded=5)
    for ticket, waiting in zip(backend.tickets[4:], WORKING.waiting.requests or (), strict=True):
        ticket.seen["task"] = waiting.task
    app.dashboard.look()
    await pilot.pause()


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_at_work(size: tuple[int, int], snap_compare: Compare) -> None:
    app, _ = make_app()
    assert snap_compare(app, terminal_size=size, run_before=at_work)


@pytest.mark.parametrize("scene", [IDLE, REMOTE, GONE], ids=["idle", "remote", "gone"])
def test_states_at_80_by_24(scene: Snapshot, snap_compare: Compare) -> None:
    app, _ = make_app(scene)
    assert snap_compare(app, terminal_size=(80, 24))


def test_light_theme(snap_compare: Compare) -> None:
    app = SlotviewApp(FakeBackend(WORKING), refresh=3600, theme="slotview-light")
    assert snap_compare(app, terminal_size=(120, 36), run_before=at_work)


@pytest.mark.parametrize("keys", [["f"], ["t"], ["question_mark"], ["space"]], ids=["fire", "retune", "help", "frozen"])
def test_dialogs_at_80_by_24(keys: list[str], snap_compare: Compare) -> None:
    app, _ = make_app(retune=RetuneMode.COMMAND)

    async def open_dialog(pilot: Pilot[None]) -> None:
        await pilot.press(*keys)
        for field in pilot.app.screen.query(Input):
            field.cursor_blink = False
        await pilot.pause()

    assert snap_compare(app, terminal_size=(80, 24), run_before=open_dialog)


def test_overview(snap_compare: Compare) -> None:
    servers = [("gpu[0]", FakeBackend(REMOTE)), ("old box", FakeBackend(GONE)), ("here", FakeBackend(WORKING))]
    assert snap_compare(OverviewApp(servers, refresh=3600), terminal_size=(120, 36))
