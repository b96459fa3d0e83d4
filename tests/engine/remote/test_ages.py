"""What servers of other years answered (data/ages), and what is made of it."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from slotview.engine.backend import FireRequest, RequestState
from slotview.engine.observe.meaning import pool_meaning
from slotview.engine.observe.observer import Observer
from slotview.engine.remote.once import ExitCode, snapshot_once
from slotview.engine.remote.read.slots import read_details, read_slots, runs_over
from slotview.engine.snapshot import Health, HealthState, SlotState, SlotView, Snapshot
from tests.engine.remote.recorded import impatient, watching
from tests.engine.remote.test_cases_network import HANG
from tests.fake_server import FakeServer, Reply, Route, Routes

AGES = Path(__file__).parent / "data" / "ages"
LEFT_OVER = ("2024-04", "2024-06", "2024-08", "2024-11", "2025-03", "2025-08")
WITH_SLOTS = ("2024-03", *LEFT_OVER, "2026-03")
IDLE, UNUSED, PROMPT, GENERATING = SlotState.IDLE, SlotState.UNUSED, SlotState.PROMPT, SlotState.GENERATING


def answers(age: str) -> dict[str, dict[str, Any]]:
    recorded: dict[str, dict[str, Any]] = json.loads((AGES / f"{age}.json").read_text())["answers"]
    return recorded


def reply(age: str, name: str) -> Reply:
    """An answer as it was."""
    one = answers(age)[name]
    return Reply(one["body_text"].encode(), one["status"], one["headers"]["content-type"])


def server_of(age: str, **changed: Route) -> Routes:
    """A server of then, at work on a queue if it shows slots."""
    names = {"props": "props", "health": "health", "slots": "slots_full", "metrics": "metrics_queue"}
    found = answers(age)
    routes: Routes = {f"/{path}": reply(age, name) for path, name in names.items() if name in found}
    return {**routes, "/v1/models": reply(age, "models"), **{f"/{name}": route for name, route in changed.items()}}


def rows(age: str, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(answers(age)[name]["body_text"])
    return found


def slots_of(age: str, *names: str) -> tuple[SlotView, ...]:
    """The slots in the last of several answers that follow each other."""
    over: dict[int, Any] = {}
    slots: tuple[SlotView, ...] = ()
    for name in names:
        slots = read_slots(rows(age, name), over) or ()
        over = runs_over(rows(age, name), slots, over)
    return slots


@pytest.mark.parametrize("age", WITH_SLOTS)
def test_a_queue_before_two_slots(age: str) -> None:
    with FakeServer(server_of(age)) as server:
        found, code = snapshot_once(server.url)
    assert (code, found["health"]["state"], found["busy"]) == (ExitCode.RIGHT, "ok", 2)
    assert (found["server"]["model"], found["server"]["n_slots"], found["server"]["n_ctx_slot"]) == (
        "model.gguf",
        2,
        512,
    )
    waiting = answers(age)["metrics_queue"]["body_text"].split("\nllamacpp:requests_deferred ")[1].split()[0]
    assert found["waiting"] == {"count": int(waiting), "why": None}
    for slot in found["slots"]:
        assert slot["state"] == ("generating" if slot["n_decoded"] else "prompt")
        assert slot["n_decoded"] + slot["n_remain"] == 40


@pytest.mark.parametrize("age", WITH_SLOTS)
def test_slots_before_and_after_their_first_task(age: str) -> None:
    assert [(slot.state, slot.task) for slot in slots_of(age, "slots_fresh")] == [(UNUSED, None)] * 2
    for slot in slots_of(age, "slots_idle"):
        assert (slot.state is IDLE, slot.n_decoded, slot.n_remain) == (slot.task is not None, None, None)


@pytest.mark.parametrize("age", LEFT_OVER)
def test_while_a_slot_reads_its_prompt_it_shows_nothing_of_its_last_run(age: str) -> None:
    """It still tells the counts of that run, and until August 2024 state 0."""
    (told, _), (slot, _) = rows(age, "slots_prompt_again"), slots_of(age, "slots_prompt_again")
    assert told["next_token"]["n_decoded"] > 0
    assert (slot.state, slot.task, slot.n_decoded) == (PROMPT, told["id_task"], 0)
    limit = told.get("params", told).get("max_tokens")  # at first only that of the server was told
    assert (slot.n_remain, slot.unlimited) == (limit, False)


@pytest.mark.parametrize("age", WITH_SLOTS[1:])
def test_a_run_that_was_given_up_is_told_from_the_next_one(age: str) -> None:
    (given_up, _) = slots_of(age, "slots_given_up")
    assert given_up.state is IDLE
    names = ("slots_given_up", "slots_prompt_after_given_up")
    for again in (names, (*names, names[1])):
        (slot, _) = slots_of(age, *again)
        assert (slot.state, slot.n_decoded) == (PROMPT, 0)
    over = runs_over(rows(age, names[0]), slots_of(age, names[0]), {})
    details = read_details(rows(age, names[1]), 0, over)
    assert details is not None
    assert details.view == slot


@pytest.mark.parametrize("age", LEFT_OVER)
def test_a_run_that_has_decoded_as_many_tokens_as_the_last_one_is_generating(age: str) -> None:
    """As happens every now and then where answers are short."""
    before = rows(age, "slots_idle")
    counts = before[0]["next_token"]
    assert counts["has_next_token"] is False
    busy = {"id_task": 9000, "is_processing": True, **({"state": 1} if "state" in before[0] else {})}
    row = {**before[0], **busy, "next_token": {**counts, "has_next_token": True, "stopped_limit": False}}
    slots = read_slots(before) or ()
    (slot, *_) = read_slots([row, before[1]], runs_over(before, slots, {})) or ()
    assert (slot.state, slot.n_decoded) == (GENERATING, counts["n_decoded"])


def test_a_run_ends_that_is_not_yet_released() -> None:
    """In 2024 it told why it stopped before its slot was idle."""
    row = rows("2024-04", "slots_generating")[1]
    row["next_token"] |= {"has_next_token": False, "stopped_limit": True, "n_decoded": 40, "n_remain": 0}
    (slot,) = read_slots([row]) or ()
    assert (slot.state, slot.n_decoded) == (GENERATING, 40)


@pytest.mark.parametrize(
    ("age", "switch"),
    [
        ("2024-04", "without --slots-endpoint-disable"),
        ("2024-06", "without --slots-endpoint-disable"),
        ("2024-08", "without --no-slots"),
        ("2024-11", "with --slots"),
        ("2025-03", "with --slots"),
        ("2025-08", "with --slots"),
        ("2026-03", "with --slots"),
    ],
)
def test_the_switch_for_the_slots_is_the_one_of_then(age: str, switch: str) -> None:
    with FakeServer(server_of(age, slots=reply(age, "slots_off"), metrics=reply(age, "metrics_off"))) as server:
        found, code = snapshot_once(server.url)
    assert code is ExitCode.SLOTS_OFF
    assert found["health"]["advice"] == f"start the server {switch}"
    assert found["waiting"]["why"] == "unknown (server started without --metrics)"


def test_in_march_2024_what_was_off_was_not_found() -> None:
    age = "2024-03"
    with FakeServer(server_of(age, slots=reply(age, "slots_off"), metrics=reply(age, "metrics_off"))) as server:
        found, code = snapshot_once(server.url)
    assert code is ExitCode.SLOTS_OFF
    assert "--slots-endpoint-disable" in found["health"]["advice"]
    assert "perhaps started without --metrics" in found["waiting"]["why"]


@pytest.mark.parametrize("age", ["2023-12", "2024-01"])
def test_before_february_2024_there_is_nothing_to_see(age: str) -> None:
    with FakeServer(server_of(age)) as server, watching(server) as backend:
        told = backend.wait_until(
            lambda seen: seen.facts.model == "model.gguf" and seen.health.state is HealthState.NOTHING, 5
        )
    assert told.health.advice.startswith("built before February 2024")


@pytest.mark.parametrize("age", WITH_SLOTS[:-2])
def test_until_may_2025_the_cells_are_counted_and_each_slot_has_its_share(age: str) -> None:
    with FakeServer(server_of(age)) as server, watching(server) as backend:
        pool = backend.wait_until(lambda seen: seen.totals.kv_ratio is not None, 5).pool
        notes = backend.preview(backend.flags).notes
    assert (pool.unified, pool.cells, pool.used) == (False, 1024, None)
    assert re.fullmatch(r"the server reports \d+% of its 1 024 cells used", pool_meaning(pool))
    assert notes[0].endswith("one slot without -np, another -c, perhaps no -kvu")


def test_cells_that_no_slot_holds_are_not_called_free() -> None:
    """In 2024 the slots could have a system prompt in common."""
    with FakeServer(server_of("2024-08", slots=reply("2024-08", "slots_fresh"))) as server, watching(server) as backend:
        seen = backend.wait_until(lambda seen: seen.totals.kv_ratio is not None, 5)
    assert [slot.state for slot in seen.slots or ()] == [UNUSED, UNUSED]
    assert (seen.pool.used, seen.pool.free) == (None, None)


@pytest.mark.parametrize("age", WITH_SLOTS)
def test_the_speed_of_prompts_that_nobody_reports_is_unknown(age: str) -> None:
    observer = Observer()
    for at, name in enumerate(("slots_idle", "slots_prompt_again", "slots_full", "slots_full")):
        snapshot = Snapshot(time=at, slots=slots_of(age, name), slots_at=at, health=Health(HealthState.OK))
        seen = observer.observe(snapshot)
        assert (seen.prompt_rate is None) is (snapshot.busy != 0 or at == 0)


@pytest.mark.parametrize("age", WITH_SLOTS)
def test_without_the_key(age: str) -> None:
    """From April to August 2024 /props was behind the key, and the slots were not."""
    locked = {name: reply(age, f"{name}_no_key") for name in ("props", "slots")}
    with FakeServer(server_of(age, **locked)) as server:
        code = snapshot_once(server.url)[1]
    assert code is (ExitCode.RIGHT if age < "2024-09" else ExitCode.KEY)


@pytest.mark.parametrize("locked", [False, True])
def test_health_that_waits_for_the_main_loop_is_left_alone(locked: bool) -> None:
    """Each question that waits holds one of eight HTTP threads; when all were held, the server seemed to be gone."""
    age = "2024-04"
    routes = server_of(age, slots=[reply(age, "slots_full"), HANG], health=HANG, metrics=HANG)
    if locked:
        routes["/props"] = reply(age, "props_no_key")
    with FakeServer(routes) as server, impatient(server, metrics_every=0) as backend:
        states = set()

        def is_told(seen: Any) -> bool:
            states.add(seen.health.state)
            return seen.health.state is HealthState.STALLED

        told = backend.wait_until(is_told, 2.5 if locked else 8)
        assert not server.asked("/health")
    assert states <= {HealthState.CONNECTING, HealthState.OK, HealthState.STALLED}
    assert locked or "while /props answers: a long prompt, or stuck" in told.health.message


def test_one_question_at_a_time_waits_for_the_main_loop() -> None:
    """Until autumn 2025 a question that was given up held one of as few as three HTTP threads until it was answered."""
    age = "2024-06"
    routes = server_of(age, slots=reply(age, "slots_fresh"), metrics=[reply(age, "metrics_queue"), HANG])
    with FakeServer(routes) as server, impatient(server) as backend:
        told = backend.wait_until(lambda seen: seen.health.state is HealthState.STALLED, 10)
        server.wait_for("/metrics", 2)
        n_looks = len(server.asked("/slots"))
        time.sleep(1)
        assert (len(server.asked("/metrics")), len(server.asked("/slots"))) == (2, n_looks)
    assert told.health.message.startswith("no answer from /metrics for")
    assert "while /props answers: a long prompt, or stuck" in told.health.message


@pytest.mark.parametrize("age", ["2023-12", "2024-01", *WITH_SLOTS])
def test_a_prompt_fired_at_it(age: str) -> None:
    with FakeServer(server_of(age, completion=reply(age, "completion_stream"))) as server, watching(server) as backend:
        backend.wait_until(lambda seen: seen.health.state is not HealthState.CONNECTING, 5)
        (ticket,) = backend.submit(FireRequest("Once", n_predict=5, id_slot=1))
        while not ticket.view().state.is_over:
            server.wait_for("/completion")
        asked = server.asked("/completion")[0].json
    assert isinstance(asked, dict)
    assert asked["id_slot"] == asked["slot_id"] == 1
    view = ticket.view()
    assert (view.state, view.finish, view.n_decoded, view.n_prompt) == (RequestState.DONE, "limit", 5, 11)
    assert view.slot is not None
    assert "".join(ticket.take()).strip().startswith("She was a")


@pytest.mark.parametrize("age", ["2024-04", "2025-08"])
def test_the_head_of_an_answer_does_not_tell_that_a_slot_was_free(age: str) -> None:
    """It came at once, however long the request waited; what the slot took is told at the end."""
    stream = reply(age, "completion_stream").body
    late = Reply(parts=[b"\n", b"\n", stream], gap=0.8)
    with FakeServer(server_of(age, completion=late)) as server, watching(server) as backend:
        backend.wait_until(lambda seen: seen.slots is not None, 5)
        (ticket,) = backend.submit(FireRequest("Once"))
        server.wait_for("/completion")
        time.sleep(0.3)
        early = ticket.view()
        backend.wait_until(lambda _: ticket.view().state.is_over, 5)
        late_view = ticket.view()
    assert (early.state, early.queue_wait) == (RequestState.WAITING, None)
    assert late_view.state is RequestState.DONE
    timings = json.loads(stream.split(b"data: ")[-1])["timings"]
    work = (timings["prompt_ms"] + timings["predicted_ms"]) / 1000
    assert late_view.total_seconds is not None
    assert late_view.queue_wait == pytest.approx(max(0.0, late_view.total_seconds - work), abs=0.05)


def test_an_answer_whose_tokens_are_not_counted_has_begun_nevertheless() -> None:
    first = answers("2024-04")["completion_stream"]["body_text"].split("\n\n")[0].encode() + b"\n\n"
    routes = server_of("2024-04", completion=Reply(parts=[first, b"\n"], gap=30))
    with FakeServer(routes) as server, watching(server) as backend:
        backend.wait_until(lambda seen: seen.slots is not None, 5)
        (ticket,) = backend.submit(FireRequest("Once"))
        backend.wait_until(lambda _: ticket.view().state is RequestState.GENERATING, 5)
        view = ticket.view()
        ticket.cancel()
    assert (view.state, view.n_decoded) == (RequestState.GENERATING, None)
    assert view.first_token is not None
    assert view.waited(view.fired_at + 60) is None


def test_a_fired_prompt_that_finds_no_slot_in_2023() -> None:
    age = "2023-12"
    with FakeServer(server_of(age, completion=reply(age, "completion_no_slot"))) as server, watching(server) as backend:
        backend.wait_until(lambda seen: seen.health.state is not HealthState.CONNECTING, 5)
        (ticket,) = backend.submit(FireRequest("Once"))
        while not ticket.view().state.is_over:
            server.wait_for("/completion")
    assert (ticket.view().state, ticket.view().finish) == (RequestState.FAILED, "slot unavailable")


@pytest.mark.parametrize("age", ["2024-01", "2024-03", "2024-04", "2025-03"])
def test_a_fired_prompt_that_wants_the_key(age: str) -> None:
    routes = server_of(age, completion=reply(age, "completion_no_key"))
    with FakeServer(routes) as server, watching(server) as backend:
        backend.wait_until(lambda seen: seen.health.state is not HealthState.CONNECTING, 5)
        (ticket,) = backend.submit(FireRequest("Once"))
        while not ticket.view().state.is_over:
            server.wait_for("/completion")
    assert ticket.view().finish in ("Unauthorized", "Invalid API Key")


@pytest.mark.parametrize("age", ["2024-01", "2024-08", "2025-03"])
def test_loading(age: str) -> None:
    loading = reply(age, "health_loading")
    routes: Routes = (
        {"/health": loading} if age == "2024-01" else dict.fromkeys(("/health", "/props", "/slots"), loading)
    )
    with FakeServer(routes) as server:
        found, code = snapshot_once(server.url)
    assert (code, found["health"]["state"]) == (ExitCode.LOADING, "loading")
