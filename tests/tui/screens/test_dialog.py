import asyncio

import pytest
from textual.events import Key
from textual.widgets import Input

from slotview.tui.screens.confirm import ConfirmScreen
from slotview.tui.screens.dashboard import Dashboard
from tests.tui.helpers import make_app, run
from tests.tui.scenes import REMOTE, WORKING


@pytest.mark.parametrize("opening", ["f", "t"])
async def test_enter_held_down_answers_once_and_leaves_the_screen_below_alone(opening: str) -> None:
    app, backend = make_app(WORKING)
    async with run(app, (120, 36)) as pilot:
        await pilot.press(opening)
        dialog = app.screen
        for _ in range(25):
            app.post_message(Key("enter", "\r"))
        await pilot.pause()
        await pilot.pause()
        assert dialog not in app.screen_stack
        assert isinstance(app.screen_stack[0], Dashboard), "still there, whatever Enter opened on it"
        assert len([call for call in backend.calls if call[0] in ("submit", "retune")]) in (1, 8)


async def test_enter_held_down_does_not_answer_the_question_that_comes_next() -> None:
    app, backend = make_app(REMOTE, confirm="http://10.0.0.1:8080")
    async with run(app, (120, 36)) as pilot:
        await pilot.press("f")
        field = app.screen.query_one("#text", Input)
        for _ in range(25):
            field.post_message(Input.Submitted(field, field.value))
        await pilot.pause()
        await pilot.pause()
        assert isinstance(app.screen, ConfirmScreen), "the question is neither answered nor gone"
        assert not [call for call in backend.calls if call[0] == "submit"]


@pytest.mark.parametrize("key", ["enter", "f", "t", "v", "x", "question_mark"])
async def test_a_dialog_that_is_left_while_it_opens_is_left(key: str) -> None:
    app, _ = make_app(WORKING)
    async with run(app, (120, 36)) as pilot:
        for moment in range(0, 60, 6):
            app.post_message(Key(key, None))
            for _ in range(moment):
                await asyncio.sleep(0)
            app.post_message(Key("escape", None))
            await pilot.pause()
            await pilot.press("escape")
            assert app.screen_stack == [app.dashboard]


async def test_enter_held_down_opens_one_dialog() -> None:
    app, _ = make_app(WORKING)
    async with run(app, (120, 36)) as pilot:
        for _ in range(25):
            app.post_message(Key("enter", None))
        await pilot.pause()
        await pilot.press("escape")
        assert app.screen_stack == [app.dashboard], "nobody has to leave it 25 times"
