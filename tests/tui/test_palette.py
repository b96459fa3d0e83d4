import asyncio

import pytest
from rich.style import Style
from textual.command import CommandList, CommandPalette
from textual.events import Click, Key
from textual.pilot import Pilot

from tests.tui.helpers import make_app, run


async def open_palette(pilot: Pilot[None], search: str) -> None:
    """Open the palette, and wait until it has found a command."""
    await pilot.press("ctrl+p", *search)
    while not pilot.app.screen.query_one(CommandList).option_count:
        await pilot.pause()


@pytest.mark.parametrize("key", ["pageup", "pagedown"])
async def test_page_keys_may_come_before_it_is_drawn(key: str) -> None:
    app, _ = make_app()
    async with run(app, (80, 24)) as pilot:
        for moment in range(12):
            app.post_message(Key("ctrl+p", None))
            for _ in range(moment * 8):
                await asyncio.sleep(0)
            app.post_message(Key(key, None))
            await pilot.pause()
            await pilot.press("escape", "escape")
            assert app.screen is app.dashboard


async def test_enter_held_down_runs_one_command_once() -> None:
    app, _ = make_app()
    async with run(app, (80, 24)) as pilot:
        await open_palette(pilot, "freeze")
        for _ in range(9):
            app.post_message(Key("enter", "\r"))
        for _ in range(5):
            await pilot.pause()
        assert app.dashboard.feed.frozen, "not frozen and thawed again"
        assert not any(isinstance(screen, CommandPalette) for screen in app.screen_stack)


async def test_escape_held_down_leaves_the_dialog_below_alone() -> None:
    app, _ = make_app()
    async with run(app, (80, 24)) as pilot:
        await pilot.press("t")
        dialog = app.screen
        app.action_command_palette()
        palette = app.screen
        await pilot.pause()
        for _ in range(3):
            palette.dismiss()
        await pilot.pause()
        assert app.screen is dialog


async def test_a_click_may_come_after_its_command_has_left_the_list() -> None:
    app, _ = make_app()
    async with run(app, (80, 24)) as pilot:
        await open_palette(pilot, "freeze")
        commands = app.screen.query_one(CommandList)
        gone = Style(meta={"option": 99})
        x, y = commands.region.offset
        commands.post_message(Click(commands, 1, 1, 0, 0, 1, False, False, False, x, y, style=gone))
        await pilot.pause()
        assert isinstance(app.screen, CommandPalette), "neither closed nor broken"


async def test_it_may_be_asked_for_while_it_closes() -> None:
    app, _ = make_app()
    async with run(app, (80, 24)) as pilot:
        await pilot.press("ctrl+p")
        palette = app._screen_stack.pop()  # it has been left, and is about to be removed
        app.action_command_palette()
        assert app.screen is app.dashboard
        await palette.remove()
        await pilot.press("ctrl+p")
        assert isinstance(app.screen, CommandPalette)
