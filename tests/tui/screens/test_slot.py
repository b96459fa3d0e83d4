from msgspec.structs import replace

from slotview.engine.backend import BackendError
from slotview.engine.snapshot import SlotDetails, SlotState, SlotView
from slotview.tui.screens.slot import table
from tests.tui.helpers import assert_shows, look, make_app, run, text_of
from tests.tui.scenes import WORKING


async def test_enter_opens_the_chosen_slot_and_shows_what_is_known() -> None:
    app, backend = make_app()
    async with run(app, (120, 36)) as pilot:
        await pilot.press("down", "enter")
        assert "Slot 1" in text_of(app)
        assert backend.calls[-1] == ("details", 1)
        params = {"temperature": 0.8, "seed": 42, "stop": [], "name": "[red]x[/red]"}
        details = SlotDetails(1, params, {"prompt_ms": None}, "Once upon", "a time\x1b[2J", "no text elsewhere")
        backend.futures[-1].set_result(details)
        await pilot.pause()
        await pilot.pause()
        text = text_of(app)
        assert "temperature" in text
        assert "0.8" in text
        assert "[red]x[/red]" in text, "text from outside is never markup"
        assert "a time␛[2J" in text, "and never an escape code"
        assert "no text elsewhere" in text
        prompt_ms = next(line for line in text.splitlines() if "prompt_ms" in line)
        assert prompt_ms.split("prompt_ms")[1].split()[0] == "–", "unknown is not 0"


def test_long_values_have_a_line_of_their_own_and_lists_are_words() -> None:
    samplers = ("penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature")
    shown = table({"seed": 2**32 - 2, "stop": (), "samplers": samplers, "extra": {"a": 1}, "n_predict": 10_000})
    lines = [line.rstrip() for line in shown.plain.splitlines()]
    assert [line.split(maxsplit=1)[0] for line in lines] == ["seed", "samplers", "extra"]
    assert lines[0].split() == ["seed", "4294967294", "stop", "none"]
    assert lines[1].endswith(", ".join(samplers))
    assert lines[2].split() == ["extra", "a:", "1", "n_predict", "10", "000"]


def test_a_seed_that_asks_for_a_random_one_says_so() -> None:
    assert table({"seed": 2**32 - 1}).plain.split(maxsplit=1)[1].strip() == "random (-1)"


async def test_the_numbers_above_are_of_the_same_moment_as_the_details() -> None:
    app, backend = make_app()
    async with run(app, (120, 36)) as pilot:
        await pilot.press("enter")
        later = replace(WORKING.slots[0], n_decoded=47)  # type: ignore[index]
        backend.futures[-1].set_result(SlotDetails(0, timings={"predicted_n": 47}, view=later))
        await assert_shows(pilot, "decoded 47")
        await assert_shows(pilot, "predicted_n 47")


async def test_a_slot_that_is_gone_shows_no_old_numbers() -> None:
    app, backend = make_app()
    async with run(app, (120, 36)) as pilot:
        await pilot.press("end", "enter")
        await assert_shows(pilot, "state generating")
        backend.push(replace(WORKING, slots=WORKING.slots[:2]))  # type: ignore[index]
        await look(pilot)
        backend.futures[-1].set_exception(BackendError("there is no slot 3"))
        await assert_shows(pilot, "this slot is gone")
        await assert_shows(pilot, "there is no slot 3")


def test_large_and_small_numbers_are_written_out() -> None:
    shown = table({"predicted_ms": 17_060.4, "prompt_ms": 535.24, "top_p": 0.95})
    assert shown.plain.split() == ["predicted_ms", "17", "060", "prompt_ms", "535.2", "top_p", "0.95"]


async def test_it_asks_again_only_after_the_answer() -> None:
    app, backend = make_app()
    async with run(app, (80, 24)) as pilot:
        await pilot.press("enter")
        screen = app.screen
        screen.ask()  # type: ignore[attr-defined]
        await pilot.pause()
        assert len(backend.futures) == 1
        backend.futures[0].set_exception(BackendError("the server does not tell"))
        await assert_shows(pilot, "the server does not tell")
        screen.ask()  # type: ignore[attr-defined]
        await pilot.pause()
        assert len(backend.futures) == 2


async def test_an_answer_that_never_comes_holds_nobody_up() -> None:
    app, backend = make_app()
    async with run(app, (80, 24)) as pilot:
        await pilot.press("enter", "escape")
        assert app.screen is app.dashboard
        assert not backend.futures[0].cancelled(), "the backend's future is its own"
        await pilot.press("q")
    assert app.return_code == 0


async def test_an_unlimited_task_has_no_limit() -> None:
    slots = tuple(replace(slot, unlimited=True, n_remain=None) for slot in WORKING.slots or ())
    app, _ = make_app(replace(WORKING, slots=slots))
    async with run(app, (80, 24)) as pilot:
        await pilot.press("enter")
        assert "no limit" in text_of(app)


async def test_an_idle_slot_has_no_running_task_to_count_for() -> None:
    idle = SlotView(0, SlotState.IDLE, 2048, 8, 104, n_prompt_processed=0, n_prompt_cached=0, n_decoded=0)
    app, backend = make_app(replace(WORKING, slots=(idle,)))
    async with run(app, (120, 36)) as pilot:
        await pilot.press("enter")
        backend.futures[-1].set_result(SlotDetails(0, view=idle))
        await assert_shows(pilot, "tokens held 104")
        for name in ("processed", "from cache", "decoded", "remain"):
            await assert_shows(pilot, f"{name} –")
