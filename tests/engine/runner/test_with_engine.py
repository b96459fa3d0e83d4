"""Our own engine behind HTTP as the child: watched, restarted by a retune, killed, started again, and ended."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from slotview.engine.backend import BackendError, Capabilities, FireRequest, RetuneMode
from slotview.engine.context import LaunchFlags
from slotview.engine.embedded.loading import bundled_model
from slotview.engine.events import Notice, Retuned, TaskEnded
from slotview.engine.remote.patience import Patience
from slotview.engine.runner.backend import RunnerBackend
from slotview.engine.snapshot import HealthState, SlotState, Snapshot
from tests.engine.remote.test_fire import until

SERVER = f"""#!{sys.executable}
import sys
from slotview.tui.cli import main
sys.argv[1:1] = ["serve"]
main()
"""
pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's /proc")


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[RunnerBackend]:
    """A child that is looked at again when its log says that it listens: the next try would come too late."""
    patience = Patience(first_retry=60.0, last_retry=60.0)
    server = tmp_path / "llama-server"
    server.write_text(SERVER)
    server.chmod(0o755)
    words = ["-m", str(bundled_model()), "-np", "2", "-c", "1024"]
    backend = RunnerBackend(words, server_bin=str(server), patience=patience)
    backend.start()
    yield backend
    backend.close()


def when(backend: RunnerBackend, wanted: Callable[[Snapshot], bool]) -> Snapshot:
    until(lambda: wanted(backend.latest()), 30)
    return backend.latest()


def is_watched(snapshot: Snapshot) -> bool:
    return snapshot.health.state is HealthState.OK and bool(snapshot.slots) and snapshot.waiting.count is not None


def server_of(backend: RunnerBackend) -> int:
    """Process id of the child itself, behind its guard."""
    assert backend._process is not None
    guard = backend._process._process.pid
    return int(Path(f"/proc/{guard}/task/{guard}/children").read_text().split()[0])


def test_a_child_is_watched_restarted_killed_started_again_and_ended(backend: RunnerBackend) -> None:
    assert backend.latest().health.state is HealthState.CONNECTING
    before = when(backend, is_watched)
    assert [(slot.n_ctx, slot.state) for slot in before.slots or ()] == [(512, SlotState.UNUSED)] * 2
    assert (before.pool.unified, before.pool.cells, before.waiting.count) == (False, 1024, 0)
    first = server_of(backend)

    flags = LaunchFlags(ctx_size=1024, parallel=1)
    preview = backend.preview(flags)
    assert (preview.n_slots, preview.n_ctx_slot, preview.error) == (1, 1024, None)
    assert preview.kv_bytes == preview.kv_bytes_now == before.pool.n_bytes
    (ticket,) = backend.submit(FireRequest("Once", n_predict=8))
    until(lambda: ticket.view().state.is_over)
    until(lambda: any(isinstance(event, TaskEnded) for event in backend.events(0).events))
    assert backend.preview(LaunchFlags(parallel=0)).error
    assert backend.retune(flags).result(60).summary == "restarted with -c 1024 -np 1; it ended no request"
    after = when(backend, is_watched)
    assert len(after.slots or ()) == 1
    assert after.facts.source == before.facts.source, "clients find it where it was"
    assert backend.flags == flags
    assert not Path(f"/proc/{first}").exists()

    os.kill(server_of(backend), signal.SIGKILL)
    ended = when(backend, lambda snapshot: snapshot.health.state is HealthState.ENDED)
    assert ended.health.message.startswith("llama-server was killed by SIGKILL")
    assert ended.poll is None, "nobody is asked"
    assert backend.capabilities == Capabilities(retune=RetuneMode.RESTART)
    with pytest.raises(BackendError, match="not running; press t"):
        backend.details(0)

    backend.retune(LaunchFlags(ctx_size=512)).result(60)
    assert len(when(backend, is_watched).slots or ()) == 4
    assert backend.capabilities == Capabilities(True, RetuneMode.RESTART, slot_actions=True, save_files=True)
    last = server_of(backend)
    backend.close()
    assert not Path(f"/proc/{last}").exists()

    told = backend.events(0).events
    assert len([event for event in told if isinstance(event, Retuned)]) == 2
    notices = [(event.severity, event.text) for event in told if isinstance(event, Notice)]
    assert notices.count(("information", "restarting llama-server")) == 2
    assert [text for severity, text in notices if severity == "error"] == [ended.health.message]


@pytest.mark.parametrize(
    "words", [("--api-key", "schlüssel"), ("--host", "a b"), ("--host", "localhost:90"), ("--api-prefix", "x y")]
)
def test_a_server_that_could_not_be_watched_is_not_started(words: tuple[str, ...]) -> None:
    with pytest.raises(BackendError, match="could not be watched") as told:
        RunnerBackend(words, server_bin=sys.executable)
    assert "\n" not in str(told.value)
    assert "schlüssel" not in str(told.value)


def test_what_a_server_prints_is_read_and_shown_without_its_key(tmp_path: Path) -> None:
    server = tmp_path / "llama-server"
    server.write_text('#!/bin/sh\necho "0.00.000.001 E srv  main: started with $*"\nexit 3\n')
    server.chmod(0o755)
    backend = RunnerBackend(["--api-key", "k3y"], server_bin=str(server))
    backend.start()
    ended = when(backend, lambda snapshot: snapshot.health.state is HealthState.ENDED)
    backend.close()
    texts = [ended.health.message, *map(str, backend.events(0).events)]
    assert any("--api-key ***" in text for text in texts[1:])
    assert not any("k3y" in text for text in texts)


def test_a_retune_undoes_what_a_variable_had_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMA_ARG_KV_UNIFIED", "1")
    monkeypatch.setenv("LLAMA_ARG_N_PARALLEL", "2")
    server = tmp_path / "llama-server"
    server.write_text('#!/bin/sh\necho "variable ${LLAMA_ARG_KV_UNIFIED-gone} $*"\n')
    server.chmod(0o755)
    backend = RunnerBackend([], server_bin=str(server))
    assert backend.flags == LaunchFlags(parallel=2, kv_unified=True)
    with pytest.raises(BackendError, match="variable gone --metrics"):
        backend.retune(LaunchFlags()).result(20)
    backend.close()


def test_closing_during_a_restart_starts_no_server_any_more(tmp_path: Path) -> None:
    server = tmp_path / "llama-server"
    server.write_text(f"#!/bin/sh\necho x >> {tmp_path}/starts\ntrap 'sleep 0.5; exit' TERM\nsleep 60 & wait\n")
    server.chmod(0o755)
    starts = tmp_path / "starts"
    backend = RunnerBackend([], server_bin=str(server))
    backend.start()
    until(starts.exists)
    restart = backend.retune(LaunchFlags(parallel=1))
    until(lambda: backend._process is None, 20)  # the first one is being stopped
    backend.close()
    with pytest.raises(BackendError, match="slotview is ending"):
        restart.result(0)
    assert starts.read_text() == "x\n"
