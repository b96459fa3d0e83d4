"""Attaching to a real llama-server b11434."""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slotview.engine.backend import BackendError, FireRequest, RequestState, SlotAction, Ticket
from slotview.engine.events import Notice, TaskEnded, TaskStarted
from slotview.engine.remote.once import ExitCode, snapshot_once
from slotview.engine.snapshot import EndpointState, HealthState, SlotState, Snapshot
from tests.engine.remote.recorded import has_looked, watching
from tests.engine.remote.test_fire import finished, until
from tests.real_server import LlamaServer, StartServer, llama_server, model_path

__all__ = ["llama_server"]
pytestmark = [pytest.mark.llama_server, pytest.mark.timeout(90)]

LONG = FireRequest("Once upon a time", n_predict=1500, ignore_eos=True, temperature=0.0)


def in_state(state: HealthState) -> Callable[[Snapshot], bool]:
    return lambda snapshot: snapshot.health.state is state


def notices(backend: Any) -> list[str]:
    return [event.text for event in backend.events(0).events if isinstance(event, Notice)]


def test_eight_requests_on_four_slots(llama_server: StartServer) -> None:
    """Every value on screen is one that /slots told; counts only grow in between."""
    server = llama_server("-np", "4", "-c", "8192", "--metrics")
    with watching(server.url) as backend:
        fresh = backend.wait_until(has_looked, 5)
        assert [slot.state for slot in fresh.slots or ()] == [SlotState.UNUSED] * 4
        tickets = backend.submit(FireRequest("Once upon a time", 8, n_predict=600, ignore_eos=True, temperature=0.0))
        busy = backend.wait_until(lambda s: s.busy == 4 and bool(s.waiting.count), 20)
        assert busy.busy == 4
        assert busy.waiting.count is not None
        assert 1 <= busy.waiting.count <= 4  # fewer where the server has no thread left to read a request with
        compare_with_server(server, backend.latest, tickets)
        for ticket in tickets:
            until(lambda ticket=ticket: ticket.view().state.is_over, 60)  # type: ignore[misc]
        assert {ticket.view().state for ticket in tickets} == {RequestState.DONE}
        assert {ticket.view().n_decoded for ticket in tickets} == {600}
        idle = backend.wait_until(lambda s: s.busy == 0, 5)
        told = server.get("/slots")
        events = backend.events(0).events
    assert [slot.n_tokens for slot in idle.slots or ()] == [row["n_prompt_tokens"] for row in told]
    assert len({event.task for event in events if isinstance(event, TaskStarted)}) == 8
    assert len([event for event in events if isinstance(event, TaskEnded)]) == 8


def compare_with_server(server: LlamaServer, latest: Callable[[], Snapshot], tickets: list[Ticket]) -> None:
    """What we show lies between what the server told just before and just after."""
    compared = 0
    while not any(ticket.view().state.is_over for ticket in tickets) and compared < 5:
        before = {row["id"]: row for row in server.get("/slots")}
        serial = latest().slots_at
        until(lambda serial=serial: latest().slots_at != serial)  # type: ignore[misc]
        shown = latest().slots or ()
        after = {row["id"]: row for row in server.get("/slots")}
        for slot in shown:
            low, high = before[slot.id], after[slot.id]
            if low.get("id_task") != high.get("id_task") or not (low["is_processing"] and high["is_processing"]):
                continue
            assert (slot.task, slot.n_ctx) == (low["id_task"], low["n_ctx"])
            assert slot.n_tokens is not None
            assert slot.n_decoded is not None
            assert slot.n_remain is not None
            if low["next_token"][0]["n_decoded"]:  # before, the slot may still hold its last task's tokens
                assert low["n_prompt_tokens"] <= slot.n_tokens <= high["n_prompt_tokens"]
            assert low["next_token"][0]["n_decoded"] <= slot.n_decoded <= high["next_token"][0]["n_decoded"]
            assert slot.n_decoded + slot.n_remain == 600
            compared += 1
    assert compared > 0


def test_default_flags_and_unified(llama_server: StartServer) -> None:
    for flags in (("-c", "2048"), ("-c", "2048", "-np", "4", "-kvu")):
        server = llama_server(*flags)
        with watching(server.url) as backend:
            snapshot = backend.wait_until(has_looked, 5)
            finished(backend.submit(FireRequest("What is a slot?", n_predict=8))[0])
            after = backend.wait_until(lambda s: bool(s.pool.cached), 5)
        assert (snapshot.facts.n_slots, snapshot.facts.n_ctx_slot) == (4, 2048)
        assert snapshot.pool.candidates == (2048, 8192)
        assert (snapshot.pool.cells, snapshot.pool.unified) == (None, None)
        assert snapshot.waiting.why == "unknown (server started without --metrics)"
        assert after.pool.cached is not None
        assert 0 < after.pool.cached < 100


def test_slots_switched_off(llama_server: StartServer) -> None:
    with watching(llama_server("--no-slots", "--metrics", "-np", "1").url) as backend:
        snapshot = backend.wait_until(in_state(HealthState.OK), 5)
        assert snapshot.facts.endpoints["slots"].state is EndpointState.OFF
        assert snapshot.slots is None
        assert snapshot.waiting.count == 0
    server = llama_server("--no-slots", "-np", "1")
    assert snapshot_once(server.url)[1] is ExitCode.SLOTS_OFF


def test_api_key(llama_server: StartServer) -> None:
    server = llama_server("--api-key", "k1", "--metrics", "-np", "2", "-c", "1024")
    for key, message in ((None, "API key needed"), ("wrong", "the API key is wrong")):
        with watching(server.url, api_key=key) as backend:
            assert backend.wait_until(in_state(HealthState.KEY), 5).health.message == message
    with watching(server.url, api_key="k1") as backend:
        assert backend.wait_until(has_looked, 5).health.state is HealthState.OK
        (ticket,) = backend.submit(FireRequest("Hello", n_predict=4))
        finished(ticket)
        assert ticket.view().state is RequestState.DONE
    assert snapshot_once(server.url)[1] is ExitCode.KEY
    assert snapshot_once(server.url, api_key="k1")[1] is ExitCode.RIGHT


@pytest.mark.parametrize("metrics", [(), ("--metrics",)])
def test_an_idle_model_falls_asleep_while_watched(llama_server: StartServer, metrics: tuple[str, ...]) -> None:
    server = llama_server("--sleep-idle-seconds", "1", "-np", "2", "-c", "1024", *metrics)
    with watching(server.url, interval=1.0) as backend:
        backend.wait_until(has_looked, 5)
        asleep = backend.wait_until(in_state(HealthState.ASLEEP), 20)
        assert asleep.health.state is HealthState.ASLEEP
        assert asleep.poll is not None
        assert asleep.poll.note == "not polling"
        time.sleep(2.5)  # it must stay so while we go on watching
        assert server.get("/props")["is_sleeping"] is True
        assert backend.latest().health.state is HealthState.ASLEEP
        server.post("/completion", {"prompt": "Hello", "n_predict": 4})
        awake = backend.wait_until(lambda s: s.health.state is HealthState.OK and bool(s.slots), 10)
        assert awake.health.state is HealthState.OK
        assert backend.wait_until(in_state(HealthState.ASLEEP), 20).health.state is HealthState.ASLEEP
        assert notices(backend) == []


def test_a_router_with_two_models(llama_server: StartServer, tmp_path: Path) -> None:
    for name in ("first", "second"):
        shutil.copy(model_path(), tmp_path / f"{name}.gguf")
    server = llama_server("--models-dir", str(tmp_path), "--no-models-autoload", "-c", "2048", "-np", "2", model=None)
    with watching(server.url) as backend:
        snapshot = backend.wait_until(lambda s: len(s.facts.models) >= 2, 10)
        assert snapshot.health.state is HealthState.ROUTER
        names = {name for name, _ in snapshot.facts.models}
        assert {"first", "second"} <= names
        server.post("/models/load", {"model": "first"})
        backend.wait_until(lambda s: dict(s.facts.models).get("first") == "loaded", 20)
        backend.choose_model("first")
        chosen = backend.wait_until(has_looked, 10)
        assert chosen.facts.n_slots == 2
        (ticket,) = backend.submit(FireRequest("Hello", n_predict=8))
        finished(ticket)
        assert ticket.view().state is RequestState.DONE
        backend.choose_model("second")
        other = backend.wait_until(lambda s: s.health.state is HealthState.ROUTER and s.slots is None, 5)
        assert other.health.message == "second is unloaded"
        assert dict(backend.latest().facts.models)["second"] == "unloaded"
    assert snapshot_once(server.url)[1] is ExitCode.NO_MODEL
    assert snapshot_once(server.url, model="first")[1] is ExitCode.RIGHT


def test_killed_and_restarted_under_load(llama_server: StartServer) -> None:
    server = llama_server("-np", "2", "-c", "8192", "--metrics")
    with watching(server.url) as backend:
        backend.wait_until(has_looked, 5)
        tickets = backend.submit(FireRequest("Once", 2, n_predict=3000, ignore_eos=True))
        before = backend.wait_until(lambda s: s.busy == 2, 10)
        server.kill()
        gone = backend.wait_until(in_state(HealthState.REFUSED), 10)
        assert gone.slots is not None
        assert [slot.id for slot in gone.slots] == [slot.id for slot in before.slots or ()]
        for ticket in tickets:
            finished(ticket)
        assert {ticket.view().state for ticket in tickets} == {RequestState.FAILED}
        server.restart()
        again = backend.wait_until(lambda s: s.health.state is HealthState.OK and s.busy == 0, 15)
        assert [slot.state for slot in again.slots or ()] == [SlotState.UNUSED] * 2
        texts = notices(backend)
    assert sum("restarted" in text for text in texts) == 1
    assert any("lost" in text for text in texts)
    assert any("reconnected" in text for text in texts)


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="no SIGSTOP on this system")
def test_suspended_for_five_seconds(llama_server: StartServer) -> None:
    server = llama_server("-np", "2", "-c", "8192", "--metrics")
    with watching(server.url) as backend:
        backend.wait_until(has_looked, 5)
        (ticket,) = backend.submit(LONG)
        backend.wait_until(lambda s: s.busy == 1, 5)
        server.send(signal.SIGSTOP)
        stopped = backend.wait_until(lambda s: s.health.state in (HealthState.NO_ANSWER, HealthState.STALLED), 7)
        assert stopped.health.state in (HealthState.NO_ANSWER, HealthState.STALLED)
        assert stopped.busy == 1
        time.sleep(max(0.0, 5 - (stopped.age or 0)))
        server.send(signal.SIGCONT)
        again = backend.wait_until(lambda s: s.health.state is HealthState.OK and (s.age or 0) < 1, 10)
        assert again.health.state is HealthState.OK
        until(lambda: ticket.view().state.is_over, 30)
        assert ticket.view().state is RequestState.DONE
        assert not any("restarted" in text for text in notices(backend))


def test_slot_actions_and_details(llama_server: StartServer, tmp_path: Path) -> None:
    server = llama_server(
        "-np", "2", "-c", "2048", "--slot-save-path", str(tmp_path), env={"LLAMA_SERVER_SLOTS_DEBUG": "1"}
    )
    with watching(server.url) as backend:
        backend.wait_until(has_looked, 5)
        (ticket,) = backend.submit(FireRequest("What is a slot?", n_predict=8, id_slot=1, ignore_eos=True))
        finished(ticket)
        backend.look_now()
        held = backend.wait_until(lambda s: bool(s.slots and s.slots[1].n_tokens and s.busy == 0), 5)
        assert held.slots is not None
        details = backend.details(1).result(5)
        assert details.prompt == "What is a slot?"
        assert details.generated == ticket.text()
        saved = backend.slot_action(SlotAction.SAVE, 1, "one.bin").result(10)
        assert saved.n_tokens == held.slots[1].n_tokens
        assert backend.slot_action(SlotAction.ERASE, 1).result(10).n_tokens == saved.n_tokens
        assert backend.slot_action(SlotAction.RESTORE, 0, "one.bin").result(10).n_tokens == saved.n_tokens
        with pytest.raises(BackendError, match="shows no slot 5"):
            backend.slot_action(SlotAction.ERASE, 5).result(1)


def test_cancelled_requests_free_their_slots(llama_server: StartServer) -> None:
    server = llama_server("-np", "2", "-c", "16384")
    with watching(server.url) as backend:
        backend.wait_until(has_looked, 5)
        tickets = backend.submit(FireRequest("Once", 4, n_predict=7000, ignore_eos=True))
        backend.wait_until(lambda s: s.busy == 2, 10)
        for ticket in tickets:
            ticket.cancel()
        ends = {(ticket.view().state, ticket.view().finish) for ticket in tickets}
        assert ends == {(RequestState.CANCELLED, "cancelled")}
        assert backend.wait_until(lambda s: s.busy == 0, 10).busy == 0
