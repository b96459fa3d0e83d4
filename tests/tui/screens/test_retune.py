import pytest
from msgspec.structs import replace
from textual.events import Key
from textual.widgets import Input

from slotview.engine.backend import BackendError, RetuneMode, RetuneReport
from slotview.engine.context import LaunchFlags
from slotview.tui.screens import changes
from slotview.tui.screens.retune import RetuneScreen
from tests.fake_backend import FakeBackend
from tests.tui.helpers import SIZES, assert_shows, make_app, run, text_of
from tests.tui.scenes import REMOTE, WORKING

UNIFIED = replace(WORKING, facts=replace(WORKING.facts, unified=True))


def retunes(backend: FakeBackend) -> list[object]:
    return [call[1] for call in backend.calls if call[0] == "retune"]


@pytest.mark.parametrize("size", SIZES)
async def test_the_preview_says_what_would_be(size: tuple[int, int]) -> None:
    app, backend = make_app()
    async with run(app, size) as pilot:
        await pilot.press("t")
        app.screen.query_one("#parallel", Input).value = "2"
        await pilot.pause()
        lines = [" ".join(line.split()) for line in text_of(app).splitlines()]
        assert any("slots 4 → 2" in line for line in lines)
        assert any("n_ctx per slot 2 048 → 4 096" in line for line in lines)
        assert any("KV memory 12.0 MiB → 12.0 MiB" in line for line in lines)
        assert any("n_slots = 2, n_ctx_slot = 4096" in line for line in lines)
        assert retunes(backend) == [], "nothing has happened yet"


async def test_live_apply_says_what_it_did() -> None:
    app, backend = make_app()
    async with run(app, (120, 36)) as pilot:
        await pilot.press("t")
        app.screen.query_one("#parallel", Input).value = "2"
        await pilot.press("u", "enter")
        await pilot.pause()
        assert retunes(backend) == [LaunchFlags(ctx_size=8192, parallel=2, kv_unified=True)]
        await assert_shows(pilot, "retuning at the next step boundary")
        backend.futures[-1].set_result(RetuneReport("-np 2 -kvu", n_requeued=6, n_tokens_again=1091, n_ended=1))
        await assert_shows(pilot, "retuned: -np 2 -kvu; 6 requests")
        assert "1 091 tokens processed again" in next(iter(app._notifications)).message
        assert "step boundary" not in text_of(app), "what came of it takes the place of the announcement"


async def test_a_retune_that_fails_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(changes._WAITS_FOR, RetuneMode.LIVE, (0.1, "retuning at the next step boundary"))
    app, backend = make_app()
    async with run(app, (120, 36)) as pilot:
        await pilot.press("t", "enter")
        await pilot.pause()
        backend.futures[-1].set_exception(BackendError("the KV cache needs 9 GiB but only 2 are free"))
        await assert_shows(pilot, "the KV cache needs 9 GiB")
        await pilot.pause(0.2)
        assert "step boundary" not in text_of(app), "nothing is waited for any more"


async def test_flags_that_cannot_start_are_refused_in_place() -> None:
    app, backend = make_app()
    async with run(app, (80, 24)) as pilot:
        await pilot.press("t")
        app.screen.query_one("#parallel", Input).value = "300"
        await assert_shows(pilot, "use at most 256 slots")
        await pilot.press("enter")
        assert isinstance(app.screen, RetuneScreen)
        assert retunes(backend) == []


async def test_modes_are_split_unified_and_auto() -> None:
    app, _ = make_app()
    async with run(app, (80, 24)) as pilot:
        await pilot.press("t")
        screen = app.screen
        assert isinstance(screen, RetuneScreen)
        assert text_of(app).count("(●)") == 1, "the mode can be seen without colours"
        seen = []
        for _ in range(3):
            flags = screen.flags()
            seen.append((flags.parallel, flags.kv_unified))
            await pilot.press("u")
            await pilot.pause()
        assert seen == [(4, False), (4, True), (-1, False)]


@pytest.mark.parametrize(
    ("field", "typed", "told"),
    [("parallel", "", "how many slots?"), ("parallel", "-", "-np -: a whole"), ("ctx", "81-92", "-c 81-92: a whole")],
)
async def test_numbers_that_are_none_are_not_guessed(field: str, typed: str, told: str) -> None:
    app, backend = make_app()
    async with run(app, (80, 24)) as pilot:
        await pilot.press("t")
        app.screen.query_one(f"#{field}", Input).value = typed
        await assert_shows(pilot, told)
        await pilot.press("enter")
        assert isinstance(app.screen, RetuneScreen)
        assert retunes(backend) == []


async def test_arrows_take_a_mode_at_once_and_enter_applies_it() -> None:
    app, backend = make_app()
    async with run(app, (120, 36)) as pilot:
        await pilot.press("t", "tab", "tab", "down")
        await assert_shows(pilot, "KV mode split → unified")
        assert all(words in text_of(app) for words in ("split: each", "unified: all", "auto: 4")), "no border hides any"
        await pilot.press("down", "up", "enter")
        await pilot.pause()
        assert [flags.kv_unified for flags in retunes(backend)] == [True]  # type: ignore[attr-defined]


async def test_a_typed_number_takes_the_place_of_automatic() -> None:
    app, backend = make_app(UNIFIED)
    backend.flags = LaunchFlags(parallel=-1)
    async with run(app, (80, 24)) as pilot:
        await pilot.press("t", "2")
        await pilot.pause()
        assert any("slots 4 → 2" in " ".join(line.split()) for line in text_of(app).splitlines())
        await pilot.press("enter")
        await pilot.pause()
    assert retunes(backend) == [LaunchFlags(ctx_size=8192, parallel=2)]


async def test_leaving_automatic_begins_with_the_slots_there_are_and_coming_back_forgets_them() -> None:
    app, backend = make_app(UNIFIED)
    backend.flags = LaunchFlags(parallel=-1)
    async with run(app, (80, 24)) as pilot:
        await pilot.press("t")
        screen = app.screen
        assert isinstance(screen, RetuneScreen)
        seen = []
        for _ in range(4):
            seen.append((screen.flags().parallel, screen.query_one("#parallel", Input).value))
            await pilot.press("u")
            await pilot.pause()
    assert seen == [(-1, ""), (4, "4"), (4, "4"), (-1, "")]


async def test_a_context_that_is_not_known_is_asked_for_with_what_it_may_be() -> None:
    app, backend = make_app(REMOTE, retune=RetuneMode.COMMAND)
    backend.flags = LaunchFlags(parallel=4)
    async with run(app, (80, 24)) as pilot:
        await pilot.press("t")
        await assert_shows(pilot, "-c context of all slots, now 8 192 or 2 048; empty = the model's")


async def test_a_server_elsewhere_ends_in_a_command_to_copy() -> None:
    app, backend = make_app(REMOTE, retune=RetuneMode.COMMAND)
    async with run(app, (80, 24)) as pilot:
        await pilot.press("t")
        app.screen.query_one("#parallel", Input).value = "2"
        await assert_shows(pilot, "llama-server -m model.gguf -c 8192 -np 2")
        lines = text_of(app).splitlines()
        assert next(n for n, line in enumerate(lines) if "llama-server -m" in line) < 16, "in view on a small screen"
        await pilot.press("c")
        assert app.clipboard == app.copied_command == "llama-server -m model.gguf -c 8192 -np 2"
        await pilot.press("enter")
        assert isinstance(app.screen, RetuneScreen)
        assert retunes(backend) == []


async def test_what_is_typed_ahead_gets_into_the_next_field() -> None:
    app, _ = make_app()
    async with run(app, (80, 24)) as pilot:
        await pilot.press("t")
        for key in ("2", "tab", "4", "0", "9", "6"):
            app.post_message(Key(key, None if key == "tab" else key))
        await assert_shows(pilot, "-np slots 2")
        await assert_shows(pilot, "-c context 4096")


async def test_a_child_says_that_it_is_restarted() -> None:
    app, backend = make_app(retune=RetuneMode.RESTART)
    async with run(app, (80, 24)) as pilot:
        await pilot.press("t")
        assert "Restart with these" in text_of(app)
        await pilot.press("enter")
        await assert_shows(pilot, "restarting the server")
        assert len(retunes(backend)) == 1


async def test_what_cannot_be_retuned_offers_no_key() -> None:
    app, _ = make_app(retune=RetuneMode.NONE)
    async with run(app, (80, 24)) as pilot:
        await pilot.press("t")
        assert app.screen is app.dashboard


async def test_a_retune_beside_no_request_says_that_it_was_done() -> None:
    app, backend = make_app()
    async with run(app, (120, 36)) as pilot:
        await pilot.press("t", "enter")
        await pilot.pause()
        backend.futures[-1].set_result(RetuneReport("no request was running"))
        await assert_shows(pilot, "retuned: no request was running")


async def test_keys_that_come_in_one_go_are_taken_in_their_order() -> None:
    app, _ = make_app(retune=RetuneMode.COMMAND)
    async with run(app, (100, 32)) as pilot:
        await pilot.press("t")
        field = app.screen.query_one("#parallel", Input)
        for typed in ("backspace", "2", "6", "left", "backspace", "1"):  # as over a slow line: none waits for another
            app.post_message(Key(typed, typed if len(typed) == 1 else None))
        await pilot.pause()
        assert field.value == "16"
