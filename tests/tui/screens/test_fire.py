import pytest
from textual.events import Key, Paste
from textual.widgets import Button, Input

from slotview.engine.backend import FireRequest
from slotview.tui.screens.dashboard import Dashboard
from slotview.tui.screens.fire import FireScreen
from tests.fake_backend import FakeBackend
from tests.tui.helpers import SIZES, assert_shows, make_app, run, text_of


def sent(backend: FakeBackend) -> list[FireRequest]:
    return [call[1] for call in backend.calls if call[0] == "submit" and isinstance(call[1], FireRequest)]


@pytest.mark.parametrize("size", SIZES)
async def test_enter_fires_what_the_form_says(size: tuple[int, int]) -> None:
    app, backend = make_app()
    async with run(app, size) as pilot:
        await pilot.press("f")
        assert "Fire prompts" in text_of(app)
        app.screen.query_one("#text", Input).value = "What is a slot?"
        app.screen.query_one("#count", Input).value = "3"
        app.screen.query_one("#n_predict", Input).value = "32"
        app.screen.query_one("#id_slot", Input).value = "2"
        await pilot.press("enter")
        await pilot.pause()
        assert sent(backend) == [FireRequest("What is a slot?", count=3, n_predict=32, id_slot=2)]
        assert "What is a slot?" in text_of(app), "the requests are shown"


async def test_a_wrong_field_is_said_at_once_and_nothing_is_sent() -> None:
    app, backend = make_app()
    async with run(app, (80, 24)) as pilot:
        await pilot.press("f")
        app.screen.query_one("#count", Input).value = "300"
        await assert_shows(pilot, "at once: 300 is not between 1 and 256")
        await pilot.press("enter")
        assert isinstance(app.screen, FireScreen)
        assert app.focused is app.screen.query_one("#count")
        assert sent(backend) == []
        await pilot.press("escape")
        assert isinstance(app.screen, Dashboard)


async def test_what_would_be_sent_is_shown_while_one_types() -> None:
    app, _ = make_app()
    async with run(app, (120, 36)) as pilot:
        await pilot.press("f")
        screen = app.screen
        screen.query_one("#count", Input).value = "8"
        screen.query_one("#text", Input).value = "hello"
        await assert_shows(pilot, "8 × the same prompt")
        screen.query_one("#text", Input).value = "{n}: hello"
        await assert_shows(pilot, "8 prompts: '1: hello', '2: hello' …")


@pytest.mark.parametrize("copied_here", [True, False])
async def test_all_lines_of_a_pasted_prompt_are_sent(copied_here: bool) -> None:
    app, backend = make_app()
    async with run(app, (80, 24)) as pilot:
        await pilot.press("f", "ctrl+a", "ctrl+k")
        if copied_here:
            app.copy_to_clipboard("one\ntwo\r\nthree")
            await pilot.press("ctrl+v")
        else:
            app.screen.query_one("#text").post_message(Paste("one\ntwo\r\nthree"))
        await pilot.pause()
        await pilot.press("enter")
        await pilot.pause()
        assert sent(backend)[0].prompt == "one\ntwo\nthree"


async def test_the_last_values_are_offered_again() -> None:
    app, _ = make_app()
    async with run(app, (80, 24)) as pilot:
        await pilot.press("f")
        app.screen.query_one("#text", Input).value = "remember me"
        await pilot.press("enter", "f")
        assert app.screen.query_one("#text", Input).value == "remember me"


async def test_a_frozen_display_says_why_no_request_appears() -> None:
    app, backend = make_app()
    async with run(app, (80, 24)) as pilot:
        await pilot.press("space", "f", "enter")
        await assert_shows(pilot, "the display is frozen")
        assert sent(backend)


async def test_a_letter_of_the_prompt_is_no_key() -> None:
    app, _ = make_app()
    async with run(app, (80, 24)) as pilot:
        await pilot.press("f", "q")
        assert app.screen.query_one("#text", Input).value == "q"


async def test_a_preset_fills_the_form() -> None:
    app, backend = make_app()
    async with run(app, (80, 24)) as pilot:
        await pilot.press("f")
        app.screen.query_one("#preset-3", Button).focus()
        await pilot.press("enter", "enter")
        await pilot.pause()
        assert [(request.n_predict, request.ignore_eos) for request in sent(backend)] == [(-1, True)] * 4


async def test_a_refusal_is_one_readable_line() -> None:
    app, backend = make_app()
    backend.refuse = "no [b]server[/b] there"
    async with run(app, (80, 24)) as pilot:
        await pilot.press("f", "enter")
        await assert_shows(pilot, "no [b]server[/b] there")


async def test_a_change_elsewhere_is_confirmed_once_per_run() -> None:
    app, backend = make_app(confirm="http://10.0.0.1:8080")
    async with run(app, (80, 24)) as pilot:
        await pilot.press("f", "enter")
        await assert_shows(pilot, "Send 8 prompts to http://10.0.0.1:8080?")
        await pilot.press("n")
        assert sent(backend) == []
        await pilot.press("f", "enter")
        await pilot.pause()
        await pilot.press("y")
        await pilot.pause()
        assert len(sent(backend)) == 8
        await pilot.press("f", "enter")
        await pilot.pause()
        assert len(sent(backend)) == 16, "asked once, not again"


async def test_a_letter_in_a_number_field_is_no_text() -> None:
    app, _ = make_app()
    async with run(app, (80, 24)) as pilot:
        await pilot.press("f")
        app.screen.query_one("#seed", Input).focus()
        await pilot.press("1", "x", "2")
        assert app.screen.query_one("#seed", Input).value == "12"


async def test_keys_typed_ahead_of_a_dialog_are_no_commands_of_the_screen_below() -> None:
    app, _ = make_app()
    async with run(app, (80, 24)) as pilot:
        for key in "fq":
            app.post_message(Key(key, key))
        await pilot.pause()
        assert isinstance(app.screen, FireScreen)
        assert not app._exit


async def test_space_ticks_and_enter_sends_from_the_box_too() -> None:
    app, backend = make_app()
    async with run(app, (80, 24)) as pilot:
        await pilot.press("f")
        app.screen.query_one("#ignore_eos").focus()
        await pilot.press("space", "enter")
        await pilot.pause()
    assert {request.ignore_eos for request in sent(backend)} == {True}
