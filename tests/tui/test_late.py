import asyncio

import pytest
from textual.css.query import NoMatches
from textual.events import Key, MouseDown, MouseEvent, MouseUp
from textual.widgets._toast import Toast

from slotview.engine.snapshot import SlotDetails
from slotview.tui.late import came_too_late
from tests.tui.helpers import make_app, run

MISSING = NoMatches("no nodes match '#now'")


async def test_only_what_a_closed_screen_misses_is_no_error() -> None:
    app, _ = make_app()
    async with run(app, (80, 24)) as pilot:
        await pilot.press("enter")
        dialog = app.screen
        with dialog._context():
            assert not came_too_late(MISSING, app.screen_stack), "it is open: this is an error of ours"
        await pilot.press("escape")
        with dialog._context():
            assert came_too_late(MISSING, app.screen_stack)
            assert not came_too_late(ValueError("x"), app.screen_stack)
        with app.dashboard._context():
            assert not came_too_late(MISSING, app.screen_stack)
        with app._context():
            assert not came_too_late(MISSING, app.screen_stack)


async def test_an_answer_that_comes_while_the_dialog_closes_is_dropped() -> None:
    app, backend = make_app()
    async with run(app, (80, 24)) as pilot:
        for moment in range(0, 40, 2):
            await pilot.press("enter")
            app.post_message(Key("escape", None))
            for _ in range(moment):
                await asyncio.sleep(0)
            backend.futures[-1].set_result(SlotDetails(0, {"seed": 1}))
            await pilot.pause()
            assert app.screen is app.dashboard


@pytest.mark.parametrize("typed", ["f", "fire"])
async def test_the_palette_may_be_left_while_it_searches(typed: str) -> None:
    app, _ = make_app()
    async with run(app, (80, 24)) as pilot:
        for moment in range(0, 60, 6):
            await pilot.press("ctrl+p")
            for key in typed:
                app.post_message(Key(key, key))
            for _ in range(moment):
                await asyncio.sleep(0)
            app.post_message(Key("escape", None))
            app.post_message(Key("escape", None))
            await pilot.pause()
            await pilot.press("escape")
            assert app.screen is app.dashboard


def pressed(kind: type[MouseEvent], x: int, y: int) -> MouseEvent:
    return kind(None, x, y, 0, 0, 1, shift=False, meta=False, ctrl=False, screen_x=x, screen_y=y)


async def test_a_toast_may_be_clicked_again_while_it_goes() -> None:
    app, _ = make_app()
    async with run(app, (80, 24)) as pilot:
        for moment in range(0, 40, 3):
            app.dashboard.tell("hello")
            await pilot.pause()
            place = app.screen.query_one(Toast).region.offset
            for pause in (moment, 0):
                for kind in (MouseDown, MouseUp):
                    app.post_message(pressed(kind, place.x + 4, place.y + 1))
                for _ in range(pause):
                    await asyncio.sleep(0)
            await pilot.pause()
            assert not app.screen.query(Toast)
