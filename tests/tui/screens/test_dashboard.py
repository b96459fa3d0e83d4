from pathlib import Path

import pytest
from msgspec.structs import replace

from slotview.engine.backend import Capabilities, FireRequest, RetuneMode
from slotview.engine.events import LogLine
from slotview.engine.observe.recording.replay import ReplayBackend
from slotview.engine.snapshot import Health, HealthState, KvPool, PollView, ServerFacts, Snapshot, WaitingView
from slotview.tui.app import SlotviewApp
from slotview.tui.screens.tabs import TABS
from slotview.widgets.look import Look
from slotview.widgets.slot_table import SlotTable
from tests.tui.helpers import NEVER, SIZES, assert_shows, look, make_app, run, text_of
from tests.tui.scenes import GONE, IDLE, REMOTE, WORKING, many

RECORDING = Path(__file__).parents[2] / "engine" / "observe" / "data" / "eight_requests_on_four_slots.jsonl"
EMPTY_LOG = "nothing has happened yet"


async def test_nothing_is_blamed_on_a_server_before_it_was_heard() -> None:
    why = "not known: loading"
    facts, health = ServerFacts(source="embedded"), Health(HealthState.LOADING, "loading the model")
    scene = Snapshot(facts=facts, health=health, waiting=WaitingView(why=why), pool=KvPool(why=why))
    app, _ = make_app(scene)
    async with run(app, (80, 24)) as pilot:
        await assert_shows(pilot, "not known: loading")
        assert "does not" not in text_of(app)
        assert "-c unknown" not in text_of(app)


@pytest.mark.parametrize("size", SIZES)
async def test_the_first_frame_tells_the_whole_state(size: tuple[int, int]) -> None:
    app, backend = make_app()
    async with run(app, size) as pilot:
        for words in ("embedded engine", "slotview-1m", "split KV", "Slots: 4 of 4 busy", "KV pool", "4 wait"):
            await assert_shows(pilot, words)
        for words in ("Busy slots", "Waiting for a slot", "paced as m4-9b", "312/2 048", "prompt 37 %", "no limit"):
            await assert_shows(pilot, words)
        await assert_shows(pilot, "q Quit")
        lines = text_of(app).splitlines()
        assert len(lines) == size[1]
        for key in ("f Fire", "t Retune", "space Freeze", "? Help", "q Quit"):
            assert key in lines[-1]
        await pilot.pause()
        assert backend.started


@pytest.mark.parametrize(("width", "n_ctx"), [(80, 2048), (100, 131072), (119, 131072), (120, 131072), (160, 131072)])
async def test_every_column_of_the_slots_is_there(width: int, n_ctx: int) -> None:
    slots = tuple(replace(slot, n_ctx=n_ctx) for slot in WORKING.slots or ())
    app, _ = make_app(replace(WORKING, slots=slots))
    async with run(app, (width, 36)) as pilot:
        await assert_shows(pilot, f"312/{n_ctx // 1000} ")
        head = next(line for line in text_of(app).splitlines() if "state" in line)
        for title in ("slot", "state", "task", "context", "decoded", "remain", "tok/s", "cached"):
            assert title in head


async def test_new_snapshots_are_shown_at_the_next_look() -> None:
    app, backend = make_app()
    async with run(app, (80, 24)) as pilot:
        backend.push(IDLE)
        await look(pilot)
        await assert_shows(pilot, "Slots: 0 of 4 busy")


async def test_space_freezes_the_display_visibly_and_lets_it_catch_up() -> None:
    app, backend = make_app()
    async with run(app, (80, 24)) as pilot:
        await pilot.press("space")
        await assert_shows(pilot, "FROZEN")
        assert "space Go on" in text_of(app)
        assert "s old" not in text_of(app), "an age that stands still would be wrong"
        backend.push(IDLE)
        await look(pilot)
        assert "4 of 4 busy" in text_of(app)
        await pilot.press("space")
        await assert_shows(pilot, "Slots: 0 of 4 busy")
        assert "FROZEN" not in text_of(app)
        assert "space Freeze" in text_of(app)


async def test_plus_and_minus_change_how_often_the_engine_is_looked_at() -> None:
    app, backend = make_app(refresh=0.25)
    async with run(app, (80, 24)) as pilot:
        await pilot.press("minus")
        await assert_shows(pilot, "display refreshed every 0.5 s")
        await pilot.press("plus", "plus")
        await assert_shows(pilot, "display refreshed every 0.1 s")
        assert text_of(app).count("display refreshed") == 1, "a held key does not fill the screen"
        assert not any(call[0] == "set_interval" for call in backend.calls)


async def test_plus_and_minus_change_how_often_a_server_is_asked() -> None:
    app, backend = make_app(REMOTE)
    async with run(app, (80, 24)) as pilot:
        await pilot.press("space", "minus", "minus", "plus")
        await pilot.pause()
        asked = [call[1] for call in backend.calls if call[0] == "set_interval"]
        assert asked == [2.0, 5.0, 2.0], "a key that is pressed twice counts twice, also on a frozen display"


async def test_any_key_looks_now_where_the_poller_waits() -> None:
    app, backend = make_app(replace(REMOTE, poll=PollView(1.0, idle_gap=16.0)))
    async with run(app, (80, 24)) as pilot:
        await pilot.press("k")
        assert ("look_now",) in backend.calls


async def test_r_asks_a_server_that_is_gone_and_plays_a_recording_again() -> None:
    app, backend = make_app(GONE)
    async with run(app, (80, 24)) as pilot:
        await assert_shows(pilot, "4 of 4 were busy")
        await pilot.press("r")
        assert ("look_now",) in backend.calls
    now = [0.0]
    app = SlotviewApp(ReplayBackend(RECORDING, clock=lambda: now[0]), refresh=NEVER)
    async with run(app, (80, 24)) as pilot:
        await pilot.pause()
        now[0] = 60.0
        await look(pilot)
        await assert_shows(pilot, "press r to play it again")
        await pilot.press("r")
        await look(pilot)
        await assert_shows(pilot, "● ok")
        assert "press r" not in text_of(app)
        assert "press f" not in text_of(app)
        await pilot.press("plus")
        await pilot.pause()
        assert " RECORDING " in text_of(app), "these numbers are not of now"
        assert "asked every" not in text_of(app), "nobody is asked"


@pytest.mark.parametrize("size", SIZES)
async def test_a_recording_opens_with_its_log_and_says_why_nothing_can_be_fired(size: tuple[int, int]) -> None:
    app = SlotviewApp(ReplayBackend(RECORDING, clock=lambda: 0.0), refresh=NEVER)
    async with run(app, size) as pilot:
        assert EMPTY_LOG in text_of(app)
        for key, words in (("f", "Fire"), ("t", "Retune")):
            await pilot.press(key)
            await assert_shows(pilot, f"{words}: not possible in a recording")
        app.clear_notifications()
        await pilot.press("1")
        await assert_shows(pilot, "none: a recording contains no prompts")


async def test_prompts_can_be_fired_once_the_server_has_answered() -> None:
    app, backend = make_app(GONE)
    able, backend.capabilities = backend.capabilities, Capabilities()
    async with run(app, (140, 45)) as pilot:
        await look(pilot)
        await assert_shows(pilot, "none can be fired: refused")
        backend.capabilities = able
        backend.push(replace(REMOTE, time=GONE.time + 1))
        await look(pilot)
        await assert_shows(pilot, "none fired from here yet: press f to fire prompts")


@pytest.mark.parametrize("scene", [REMOTE, WORKING])
async def test_keys_leave_a_poller_at_work_alone(scene: object) -> None:
    app, backend = make_app(scene)  # type: ignore[arg-type]
    async with run(app, (80, 24)) as pilot:
        await pilot.press("k", "y")
        assert ("look_now",) not in backend.calls


async def test_a_sleeping_model_is_woken_by_its_key_only() -> None:
    asleep = Health(HealthState.ASLEEP, "the model is unloaded", "press r to look")
    app, backend = make_app(replace(REMOTE, health=asleep, poll=PollView(1.0, idle_gap=16.0)))
    async with run(app, (80, 24)) as pilot:
        await look(pilot)
        await pilot.press("k", "2", "space")
        assert backend.calls == []
        await pilot.press("r")
        assert backend.calls == [("look_now",)]


async def test_a_key_that_can_do_nothing_here_says_why() -> None:
    app, backend = make_app(GONE)
    backend.capabilities = Capabilities()
    async with run(app, (80, 24)) as pilot:
        await look(pilot)
        await pilot.press("f")
        await assert_shows(pilot, "Fire: not possible here (connection")


async def test_tabs_fold_the_lists_where_there_is_no_room() -> None:
    app, backend = make_app()
    async with run(app, (80, 24)) as pilot:
        backend.push(WORKING, LogLine(100.0, "I", "srv  update_slots: all slots are idle"))
        await look(pilot)
        await pilot.press("3")
        await assert_shows(pilot, "all slots are idle")
        await pilot.press("5")
        await assert_shows(pilot, "tok/s, all slots")
        await pilot.press("0", "down", "down")
        assert app.dashboard.chosen_slot == 2


@pytest.mark.parametrize("size", SIZES)
async def test_no_line_is_wasted_below_the_slots(size: tuple[int, int]) -> None:
    app, _ = make_app()
    async with run(app, size) as pilot:
        await look(pilot)
        lines = text_of(app).splitlines()
        last = next(index for index, line in enumerate(lines) if line.split()[:2] == ["3", "●"])
        assert "KV pool" in lines[last + 1]


@pytest.mark.parametrize("size", SIZES)
async def test_every_tab_key_shows_its_list(size: tuple[int, int]) -> None:
    app, _ = make_app()
    async with run(app, size) as pilot:
        for key, name in ((str(tab.number), tab.name) for tab in TABS):
            await pilot.press(key)
            await pilot.pause()
            assert app.dashboard.query_one(f"#{name}").is_on_screen, name


async def test_a_tab_stays_open_where_the_requests_stand_beside_it() -> None:
    app, _ = make_app()
    async with run(app, (120, 36)) as pilot:
        await pilot.press("3", "f", "enter")
        await assert_shows(pilot, "Requests: 8 of 8 open")
        assert EMPTY_LOG in text_of(app)
        await pilot.press("1", "5")
        await pilot.pause()
        assert EMPTY_LOG in text_of(app)
        assert app.focused is app.screen.query_one("#requests")


@pytest.mark.parametrize("size", SIZES)
async def test_the_log_of_a_server_started_here_stands_beside_its_slots(size: tuple[int, int]) -> None:
    app, _ = make_app(retune=RetuneMode.RESTART)
    async with run(app, size):
        assert EMPTY_LOG in text_of(app)


async def test_the_right_tab_is_open_after_the_size_changed_below_a_dialog() -> None:
    app, _ = make_app()
    async with run(app, (80, 24)) as pilot:
        await pilot.press("t")
        for size in ((200, 50), (80, 24)):
            await pilot.resize_terminal(*size)
        await pilot.press("escape")
        await assert_shows(pilot, "none fired from here yet: press f to fire prompts")


async def test_a_click_opens_a_tab() -> None:
    app, _ = make_app()
    async with run(app, (80, 24)) as pilot:
        row = next(y for y, line in enumerate(text_of(app).splitlines()) if "2 Findings" in line)
        await pilot.click("#tabs", offset=(text_of(app).splitlines()[row].index("3 Log") + 2, 0))
        await pilot.pause()
        assert app.dashboard.tab == "log"


@pytest.mark.parametrize("size", SIZES)
async def test_256_slots_scroll(size: tuple[int, int]) -> None:
    app, _ = make_app(many(256))
    async with run(app, size) as pilot:
        await assert_shows(pilot, "Slots: 256 of 256 busy")
        await pilot.press("end")
        await pilot.pause()
        assert app.dashboard.chosen_slot == 255
        await assert_shows(pilot, "255 ● generating")
        await assert_shows(pilot, "KV pool")


async def test_a_server_that_is_gone_keeps_its_last_data_and_says_so() -> None:
    app, _ = make_app(GONE)
    async with run(app, (80, 24)) as pilot:
        await assert_shows(pilot, "refused")
        await assert_shows(pilot, "37 s old")
        await assert_shows(pilot, "start the server, or check the port")
        await assert_shows(pilot, "312/2 048")
        assert app.dashboard.query_one(SlotTable).has_class("-stale")


async def test_names_from_outside_are_never_markup() -> None:
    app, _ = make_app(REMOTE)
    async with run(app, (120, 36)) as pilot:
        await assert_shows(pilot, "qwen[red]3.gguf")


async def test_what_a_backend_cannot_do_has_no_key() -> None:
    app, backend = make_app(fire=False)
    async with run(app, (80, 24)) as pilot:
        await pilot.press("f")
        assert app.screen is app.dashboard
        assert backend.calls == []


async def test_requests_are_listed_opened_and_cancelled() -> None:
    app, backend = make_app()
    async with run(app, (120, 36)) as pilot:
        app.dashboard.fire([FireRequest("Once upon a time", count=3)])
        backend.tickets[0].say("there was a house", n_decoded=4)
        await look(pilot)
        await pilot.press("1", "end", "enter")
        await assert_shows(pilot, "Request 1")
        await assert_shows(pilot, "there was a house")
        backend.tickets[0].say(" by the river")
        app.screen.show_text()  # type: ignore[attr-defined]
        await assert_shows(pilot, "by the river")
        await pilot.press("x")
        assert [ticket.state.is_over for ticket in backend.tickets] == [True, False, False]


async def test_all_requests_are_cancelled_with_one_key_which_says_how_many() -> None:
    app, backend = make_app()
    async with run(app, (120, 36)) as pilot:
        app.dashboard.fire([FireRequest("Once upon a time", count=3)])
        await look(pilot)
        await pilot.press("1", "X")
        await assert_shows(pilot, "3 requests are being cancelled")
        assert all(ticket.state.is_over for ticket in backend.tickets)
        await pilot.press("X")
        await assert_shows(pilot, "no request is open")
        app.dashboard.look()
        await pilot.press("x")
        await assert_shows(pilot, "request 3 has ended already")
        assert app.screen is app.dashboard  # x is not taken for the key of the slots


async def test_an_opened_request_says_how_long_it_has_waited_so_far() -> None:
    app, backend = make_app(replace(WORKING, time=103.2))
    async with run(app, (120, 36)) as pilot:
        app.dashboard.fire([FireRequest("Once upon a time")])
        await look(pilot)
        await pilot.press("1", "enter")
        await assert_shows(pilot, "waited 3.2 s")
        backend.push(replace(WORKING, time=112.0))
        app.screen.show_text()  # type: ignore[attr-defined]
        await assert_shows(pilot, "waited 12 s")


async def test_keys_work_while_no_answer_ever_comes() -> None:
    app, backend = make_app()
    async with run(app, (80, 24)) as pilot:
        await pilot.press("enter", "escape", "t", "enter", "x", "e", "space", "down", "f", "escape")
        assert len(backend.futures) >= 3
        assert not any(future.done() for future in backend.futures)
        await assert_shows(pilot, "FROZEN")
        await pilot.press("q")
    assert app.return_code == 0


async def test_one_wake_up_for_many_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    app, backend = make_app()
    async with run(app, (80, 24)) as pilot:
        taken: list[Look] = []
        take = app.dashboard.feed.take

        def noted() -> Look:
            taken.append(take())
            return taken[-1]

        monkeypatch.setattr(app.dashboard.feed, "take", noted)
        for _ in range(50):
            backend.push(IDLE)
            backend.push(WORKING)
        await look(pilot)
        await look(pilot)
        assert len(taken) == 1


@pytest.mark.parametrize("size", [(1, 1), (2, 90), (300, 2)])
async def test_a_window_of_any_size_is_survived(size: tuple[int, int]) -> None:
    app, _ = make_app()
    async with run(app, (80, 24)) as pilot:
        await pilot.resize_terminal(*size)
        await look(pilot)
        await pilot.resize_terminal(120, 36)
        await assert_shows(pilot, "4 of 4 busy")
