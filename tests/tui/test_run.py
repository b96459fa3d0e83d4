"""``slotview run``: a real llama-server restarted from the keyboard."""

from __future__ import annotations

import time

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from slotview.engine.context import LaunchFlags
from slotview.engine.runner.backend import RunnerBackend
from slotview.tui.app import SlotviewApp
from tests.real_server import model_path, needed_binary
from tests.tui.helpers import run, text_of

FLAGS = ("--no-ui", "--no-warmup", "-t", "1", "-fit", "off", "-np", "4", "-c", "8192")


async def wait_for(pilot: Pilot[None], words: str, seconds: float = 20.0) -> None:
    """Wait for words from a server that takes its time."""
    seen, end = "", time.monotonic() + seconds
    while time.monotonic() < end:
        seen = " ".join(text_of(pilot.app).split())
        if words in seen:
            return
        await pilot.pause(0.05)
    raise AssertionError(f"{words!r} does not stand on the screen: {seen}")


@pytest.mark.llama_server
async def test_t_a_number_and_enter_restart_the_server_with_other_flags() -> None:
    binary = needed_binary()
    backend = RunnerBackend(["-m", str(model_path()), *FLAGS], server_bin=binary)
    app = SlotviewApp(backend, refresh=0.1)
    try:
        async with run(app, (120, 36)) as pilot:
            await wait_for(pilot, "-c 8 192 · -np 4 · split KV · n_ctx per slot 2 048 · pool 8 192")
            await pilot.press("t")
            await wait_for(pilot, "Restart with these (Enter)")
            await pilot.press("2", "u")
            await wait_for(pilot, "n_ctx per slot 2 048 → 8 192")
            assert app.screen.query_one("#parallel", Input).value == "2"
            await pilot.press("enter")
            await wait_for(pilot, "-c 8 192 · -np 2 · unified KV · n_ctx per slot 8 192 · pool 8 192")
            await wait_for(pilot, "restarted with -c 8192 -np 2")  # the rest stands on the message's next line
            await wait_for(pilot, "0 of 2 busy")
            assert backend.flags == LaunchFlags(ctx_size=8192, parallel=2, kv_unified=True, fit=False)
    finally:
        backend.close()
