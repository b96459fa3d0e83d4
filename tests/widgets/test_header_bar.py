import pytest
from msgspec.structs import replace

from slotview.engine.observe.observation import Observation
from slotview.engine.snapshot import Health, HealthState, KvPool, PaceView, PollView, ServerFacts, Snapshot
from slotview.widgets.header_bar import HeaderBar
from slotview.widgets.look import NO_LOOK
from tests.widgets.host import drawn, hosting, screen_text
from tests.widgets.looks import FACTS, NOW, attached, look, snapshot

INSIDE = 78  # of 80 columns


def header(shown: object = None, width: int = INSIDE, **changes: object) -> str:
    return drawn(HeaderBar(), look(shown, **changes), width)  # type: ignore[arg-type]


def test_the_embedded_engine_fits_in_three_lines() -> None:
    assert header().splitlines() == [
        "embedded engine · slotview-1m                                 ● ok · < 1 s old",
        "-c 8 192 · -np 4 · split KV · n_ctx per slot 2 048 · pool 8 192",
        "paced as m4-9b; times are that device's",
    ]


def test_a_server_that_tells_little_fits_in_two_lines_with_all_unknown_named() -> None:
    assert header(attached()).splitlines() == [
        "http://127.0.0.1:8080 · SmolLM2-135M-Instruct     ● ok · < 1 s old · every 1 s",
        "-c unknown · -np 2 · KV mode unknown · 65 536/slot · pool 65 536 or 131 072?",
    ]


def test_a_rounded_context_is_told_beside_the_one_asked_for() -> None:
    facts = replace(FACTS, n_ctx=4608, n_ctx_asked=4096, n_slots=3)
    assert "-c 4 096 → 4 608 · -np 3" in header(snapshot(facts=facts))


def test_what_was_not_heard_yet_is_not_called_untold() -> None:
    lines = header(Snapshot(facts=ServerFacts(source="embedded"), health=Health(HealthState.LOADING))).splitlines()
    assert lines[0].startswith("embedded engine · model not known")
    assert lines[1:] == ["slots and context not known"]


def test_the_interval_is_told_once() -> None:
    idle = attached(poll=PollView(1.0, 8.0, "idle, looking every 8 s"))
    assert header(idle).count("every") == 1


def test_with_room_the_unknown_is_said_in_full() -> None:
    text = header(attached(), width=118)
    assert "split or unified unknown" in text
    assert "n_ctx per slot 65 536" in text
    assert "pool unknown (65 536 or 131 072)" in text


def test_unified_is_said() -> None:
    assert "unified KV" in header(snapshot(pool=KvPool(True, 8192)))


@pytest.mark.parametrize("width", [38, 58, 78, 118, 198])
def test_nothing_is_lost_at_any_width(width: int) -> None:
    sick = Health(HealthState.STALLED, "no answer from /slots for 37 s", "a long prompt, or stuck: wait or restart it")
    text = " ".join(header(attached(health=sick, slots_at=NOW - 37), width=width, frozen=True).split())
    for words in ("FROZEN", "not scheduling", "37 s old", "every 1 s", "-np 2", "65 536 or 131 072", "/slots for 37 s"):
        assert words in text


def test_long_names_are_cut_and_each_keeps_its_part() -> None:
    facts = replace(FACTS, source="http://" + "very-long-host." * 9 + ":8080", model="a-model-name-" * 12)
    first = header(snapshot(facts=facts, health=Health(HealthState.NO_ANSWER))).splitlines()[0]
    assert len(first) <= INSIDE
    assert first.startswith("http://very-long-host.")
    assert "a-model-name-" in first
    assert first.endswith("no answer")


def test_hostile_names_are_inert() -> None:
    facts = replace(FACTS, model="[bold]x[/]\x1b[2J\u202e", source="http://h\x07")
    text = header(snapshot(facts=facts))
    assert "[bold]x[/]" in text
    assert not set(text) & {"\x1b", "\x07", "\u202e"}


def test_age_is_shown_in_whole_seconds_and_long_ones_coarser() -> None:
    assert "< 1 s old" in header(snapshot(slots_at=NOW - 0.9))
    assert "3 s old" in header(snapshot(slots_at=NOW - 3.9))
    assert "2 m 05 s old" in header(snapshot(time=NOW + 125))
    assert "old" not in header(snapshot(slots_at=None))


def test_a_patient_poller_says_how_patient() -> None:
    assert "idle, looking every 8 s" in header(attached(poll=PollView(1.0, 8.0)))
    assert "it will not sleep" in header(attached(poll=PollView(1.0, None, "it will not sleep")))


def test_pace_is_always_told() -> None:
    assert "this machine takes 1.4× as long" in header(snapshot(pace=PaceView("m4-9b", 1.42)))
    assert "as long" not in header(snapshot(pace=PaceView("m4-9b", 0.8)))
    assert "not paced" in header(snapshot(pace=PaceView()))
    assert "paced" not in header(attached())


def test_static_batching_is_told() -> None:
    assert "static batching" in header(snapshot(facts=replace(FACTS, batching="static")))
    assert "batching" not in header(snapshot(facts=replace(FACTS, batching="continuous")))


def test_restarts_while_watched_are_counted() -> None:
    def told(restarts: int) -> str:
        return drawn(HeaderBar(), look(attached(), observation=Observation(restarts=restarts)), INSIDE)

    assert "restarted" not in told(0)
    assert "restarted once while watched" in told(1)
    assert "restarted 3 times while watched" in told(3)


def test_the_address_of_listen_is_told() -> None:
    assert "also at http://127.0.0.1:8080" in header(snapshot(facts=replace(FACTS, served_at="http://127.0.0.1:8080")))
    assert "also at" not in header()


def test_a_badge_says_that_the_display_is_frozen() -> None:
    assert " FROZEN " in header(frozen=True)
    assert "FROZEN" not in header()


def test_a_badge_says_that_a_recording_is_shown() -> None:
    assert " RECORDING  ● ok" in header(snapshot(is_replayed=True))
    assert "RECORDING" not in header()


def test_before_anything_is_known() -> None:
    text = drawn(HeaderBar(), NO_LOOK, INSIDE)
    assert "connecting" in text
    assert "slots and context not known" in text
    assert "0" not in text


async def test_what_to_do_gets_a_line_more() -> None:
    bar = HeaderBar()
    async with hosting(bar) as pilot:
        bar.show(look(snapshot(health=Health(HealthState.KEY, "the server wants a key", "start with --api-key"))))
        await pilot.pause()
        assert "the server wants a key · start with --api-key" in screen_text(pilot)


@pytest.mark.parametrize("width", [40, 78, 118])
def test_what_is_wrong_and_what_to_do_are_told_to_the_end(width: int) -> None:
    told = "this is not a llama-server: it answers with 404 page not found, nginx on a machine of a friend, somewhere"
    health = Health(HealthState.FOREIGN, told, "check the port, and the path before /slots if it has one")
    shown = header(snapshot(health=health), width)
    assert f"{told} · {health.advice}".replace(" · ", " ") in " ".join(shown.replace(" · ", " ").split())


def test_what_a_working_server_lacks_is_not_told_in_the_colour_of_what_is_well() -> None:
    flawed = snapshot(health=Health(HealthState.OK, "only /metrics is shown"))
    tones = {text: tone for line in HeaderBar().draw(look(flawed), 80, None) for text, tone in line}
    assert tones["● ok"] != tones["only /metrics is shown"]
