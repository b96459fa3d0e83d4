from textual.widgets import Button, Input

from slotview.engine.backend import BackendError, SlotAction, SlotActionResult
from tests.tui.helpers import assert_shows, make_app, run, text_of


async def test_erase_asks_the_chosen_slot_and_tells_the_answer() -> None:
    app, backend = make_app()
    async with run(app, (120, 36)) as pilot:
        await pilot.press("down", "down", "x")
        assert "Cached tokens of slot 2" in text_of(app)
        assert "Save" not in text_of(app), "no slot files here"
        await pilot.press("e")
        await pilot.pause()
        assert backend.calls[-1] == ("slot_action", SlotAction.ERASE, 2, None)
        backend.futures[-1].set_result(SlotActionResult(SlotAction.ERASE, 2, 512, "slot 2: 512 tokens erased"))
        await assert_shows(pilot, "slot 2: 512 tokens erased")


async def test_a_save_needs_a_plain_file_name() -> None:
    app, backend = make_app(save_files=True)
    async with run(app, (80, 24)) as pilot:
        await pilot.press("x")
        app.screen.query_one("#filename", Input).value = "../etc/x"
        app.screen.query_one("#save", Button).press()
        await assert_shows(pilot, "a plain name is needed")
        app.screen.query_one("#filename", Input).value = "slot0.bin"
        app.screen.query_one("#save", Button).press()
        await pilot.pause()
        assert backend.calls[-1] == ("slot_action", SlotAction.SAVE, 0, "slot0.bin")


async def test_a_failure_says_why() -> None:
    app, backend = make_app()
    async with run(app, (80, 24)) as pilot:
        await pilot.press("x", "e")
        await pilot.pause()
        backend.futures[-1].set_exception(BackendError("slot actions are off: start the server with --slot-save-path"))
        await assert_shows(pilot, "slot actions are off")


async def test_without_the_capability_the_key_does_nothing() -> None:
    app, _ = make_app(slot_actions=False)
    async with run(app, (80, 24)) as pilot:
        await pilot.press("x")
        assert app.screen is app.dashboard
