"""A real llama-server as our child: watched, restarted by a retune, crashed, and never started."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from slotview.engine.backend import BackendError, Capabilities, FireRequest, RetuneMode
from slotview.engine.context import LaunchFlags
from slotview.engine.events import Notice, Retuned, SlotChosen
from slotview.engine.runner.backend import RunnerBackend
from slotview.engine.runner.process import free_port
from slotview.engine.snapshot import HealthState, SlotState, Snapshot
from tests.engine.remote.test_fire import finished, until
from tests.real_server import model_path, needed_binary

pytestmark = pytest.mark.llama_server
QUIET = ("--no-ui", "--no-warmup", "-t", "1", "-fit", "off")
StartChild = Callable[..., RunnerBackend]


@pytest.fixture
def child() -> Iterator[StartChild]:
    """Start children with given flags; all end with the test."""
    binary = needed_binary()
    started: list[RunnerBackend] = []

    def start(*flags: str, model: Path | None = None) -> RunnerBackend:
        named = () if "--models-dir" in flags else ("-m", str(model or model_path()))
        started.append(RunnerBackend([*named, *QUIET, *flags], server_bin=binary))
        started[-1].start()
        return started[-1]

    yield start
    for backend in started:
        backend.close()


def when(backend: RunnerBackend, wanted: Callable[[Snapshot], bool]) -> Snapshot:
    """Wait for a snapshot and return it."""
    until(lambda: wanted(backend.latest()), 30)
    return backend.latest()


def is_watched(snapshot: Snapshot) -> bool:
    return snapshot.health.state is HealthState.OK and bool(snapshot.slots) and snapshot.pool.cells is not None


def pids(backend: RunnerBackend) -> tuple[int, int]:
    """Process ids of the child's guard and of the child."""
    assert backend._process is not None
    guard = backend._process._process.pid
    children = Path(f"/proc/{guard}/task/{guard}/children")
    if not children.exists():
        pytest.skip("needs Linux's /proc to find a child's child")
    return guard, int(children.read_text().split()[0])


def is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def test_clients_find_it_at_the_port_they_know_also_after_a_retune(child: StartChild) -> None:
    port = free_port()
    backend = child("-np", "1", "-c", "512", "--port", str(port))
    assert when(backend, is_watched).facts.source == f"http://127.0.0.1:{port}"
    backend.retune(LaunchFlags(ctx_size=512, parallel=2)).result(60)
    snapshot = when(backend, lambda snapshot: is_watched(snapshot) and len(snapshot.slots or ()) == 2)
    assert snapshot.facts.source == f"http://127.0.0.1:{port}"


def test_what_became_of_the_context_that_was_asked_for(child: StartChild) -> None:
    facts = when(child("-np", "3", "-c", "1000"), is_watched).facts
    assert (facts.n_ctx_asked, facts.n_ctx) == (1000, 1536)


def test_slots_are_known_as_soon_as_the_context_is(child: StartChild) -> None:
    backend = child("-np", "2", "-c", "1024")
    seen: list[Snapshot] = []

    def is_ready(snapshot: Snapshot) -> bool:
        seen.append(snapshot)
        return is_watched(snapshot)

    when(backend, is_ready)
    assert {snapshot.facts.n_slots for snapshot in seen if snapshot.facts.n_ctx} == {2}


def test_a_retune_restarts_the_child_with_other_flags(child: StartChild) -> None:
    backend = child("-np", "4", "-c", "8192")
    before = when(backend, is_watched)
    assert [slot.n_ctx for slot in before.slots or ()] == [2048] * 4
    assert (before.pool.unified, before.pool.cells) == (False, 8192)
    when(backend, lambda snapshot: snapshot.waiting.count == 0)  # slotview itself asked for --metrics
    nothing_lost = "a restart ends no request and drops no tokens kept in idle slots"
    assert backend.preview(LaunchFlags(ctx_size=8192, parallel=2)).notes[-1] == nothing_lost
    tickets = backend.submit(FireRequest("Once", 5, n_predict=1900, ignore_eos=True))
    when(backend, lambda snapshot: snapshot.busy == 4 and snapshot.waiting.count == 1)
    old = pids(backend)

    flags = LaunchFlags(ctx_size=8192, parallel=2, kv_unified=True, fit=False)
    preview = backend.preview(flags)
    assert (preview.n_slots, preview.n_ctx_slot, preview.pool_cells, preview.error) == (2, 8192, 8192, None)
    assert preview.notes[-1].startswith("a restart ends 4 running and 1 waiting requests and drops ")
    report = backend.retune(flags).result(60)

    assert report.summary == "restarted with -c 8192 -np 2 -kvu --fit off; it ended 4 running and 1 waiting requests"
    for ticket in tickets:
        finished(ticket)
    after = when(backend, is_watched)
    assert [(slot.n_ctx, slot.state) for slot in after.slots or ()] == [(8192, SlotState.UNUSED)] * 2
    assert (after.pool.unified, after.pool.cells, backend.flags) == (True, 8192, flags)
    assert any(isinstance(event, Retuned) for event in backend.events(0).events)
    assert not any(map(is_alive, old)), "the first child and its guard are gone"
    (ticket,) = backend.submit(FireRequest("Once", n_predict=4))
    finished(ticket)


def test_a_crashed_child_shows_how_it_ended_and_can_be_started_again(child: StartChild) -> None:
    backend = child("-np", "2", "-c", "2048")
    when(backend, is_watched)
    os.kill(pids(backend)[1], signal.SIGKILL)
    ended = when(backend, lambda snapshot: snapshot.health.state is HealthState.ENDED)
    assert "killed by SIGKILL" in ended.health.message
    assert "press t to start it again" in (ended.health.advice or "")
    assert ended.poll is None, "nobody is asked"
    assert backend.capabilities == Capabilities(retune=RetuneMode.RESTART)
    with pytest.raises(BackendError, match="not running; press t"):
        backend.submit(FireRequest("Once"))
    backend.retune(LaunchFlags(ctx_size=2048, parallel=1)).result(60)
    assert len(when(backend, is_watched).slots or ()) == 1
    assert backend.capabilities.fire


def test_a_child_that_cannot_start_tells_why(child: StartChild, tmp_path: Path) -> None:
    missing = tmp_path / "missing.gguf"
    backend = child("-np", "2", model=missing)
    ended = when(backend, lambda snapshot: snapshot.health.state is HealthState.ENDED)
    assert "llama-server ended with exit code 1" in ended.health.message
    assert "missing.gguf" in ended.health.message
    assert any("missing.gguf" in event.text for event in backend.events(0).events if isinstance(event, Notice))
    with pytest.raises(BackendError, match=r"missing\.gguf"):
        backend.retune(LaunchFlags(parallel=1)).result(60)


def test_what_a_restart_would_lose_is_unknown_before_the_first_look() -> None:
    backend = RunnerBackend(["-m", str(model_path())], server_bin=sys.executable)
    (lost,) = [note for note in backend.preview(LaunchFlags(parallel=2)).notes if "a restart" in note]
    assert lost == "a restart ends all requests and drops the tokens kept in idle slots"


def test_a_router_is_watched_through_the_model_that_was_chosen_also_after_a_restart(
    child: StartChild, tmp_path: Path
) -> None:
    (tmp_path / "tiny.gguf").symlink_to(model_path())
    backend = child("--models-dir", str(tmp_path), "-c", "1024", "-np", "2")
    router = when(backend, lambda snapshot: snapshot.health.state is HealthState.ROUTER)
    assert router.health.advice == "press m to choose one"
    backend.choose_model("tiny")
    when(backend, lambda snapshot: snapshot.facts.model == "tiny")
    (ticket,) = backend.submit(FireRequest("Once", n_predict=4))  # loads it
    finished(ticket)
    assert (when(backend, is_watched).pool.cells, backend.latest().pool.unified) == (1024, False)

    backend.retune(LaunchFlags(ctx_size=1024, parallel=1, kv_unified=True, fit=False)).result(30)
    when(backend, lambda snapshot: snapshot.facts.model == "tiny")
    (ticket,) = backend.submit(FireRequest("Once", n_predict=4))
    finished(ticket)
    after = when(backend, is_watched)
    assert (len(after.slots or ()), after.pool.unified, after.pool.cells) == (1, True, 1024)


@pytest.mark.parametrize(
    "form", [("--log-colors", "on"), ("--log-jsonl",), ("--no-log-timestamps",), ("--no-log-prefix",)]
)
def test_the_log_is_read_in_every_form(child: StartChild, form: tuple[str, ...]) -> None:
    backend = child("-np", "2", "-c", "1024", *form)
    snapshot = when(backend, is_watched)
    assert (snapshot.pool.unified, snapshot.pool.cells) == (False, 1024)
    (ticket,) = backend.submit(FireRequest("Once", n_predict=4))
    finished(ticket)
    until(lambda: any(isinstance(event, SlotChosen) for event in backend.events(0).events))


def test_closing_ends_the_child(child: StartChild) -> None:
    backend = child("-np", "1", "-c", "512")
    when(backend, is_watched)
    guard, server = pids(backend)
    backend.close()
    assert not is_alive(guard)
    assert not is_alive(server)
