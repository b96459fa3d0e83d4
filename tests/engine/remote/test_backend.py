"""The rest of the Backend protocol over a server elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from slotview.engine.backend import Backend, BackendError, RetuneMode, SlotAction
from slotview.engine.context import LaunchFlags, ModelFacts
from slotview.engine.context.kv_size import KvShape
from slotview.engine.remote.backend import RemoteBackend
from slotview.engine.remote.knowledge import learning as knowledge
from slotview.engine.remote.read.body import parse_json
from slotview.engine.remote.read.slots import read_slots
from slotview.engine.snapshot import EndpointState, HealthState
from tests.engine.remote.recorded import HTML, has_looked, healthy, recorded, slot, watching
from tests.fake_server import FakeServer, Reply, json_reply

SMOL = ModelFacts(n_ctx_train=8192, shape=KvShape(30, 3, 64, 64))


def as_backend(backend: RemoteBackend) -> Backend:
    """Type check: it is one."""
    return backend


def test_the_snapshots_time_is_now_and_its_data_age() -> None:
    now = [100.0]
    backend = RemoteBackend("localhost:1", clock=lambda: now[0])
    now[0] = 104.0
    assert as_backend(backend).latest().time == 104.0
    backend.close()


def test_everything_names_the_server_that_a_change_would_touch() -> None:
    with FakeServer(healthy()) as server, watching(server) as backend:
        backend.wait_until(has_looked, 5)
        able = backend.capabilities
    assert (able.fire, able.slot_actions, able.retune) == (True, True, RetuneMode.COMMAND)
    assert able.confirm == server.url


def test_details_come_with_the_next_look() -> None:
    with FakeServer(healthy(recorded("slots_generating"))) as server, watching(server) as backend:
        backend.wait_until(has_looked, 5)
        details = backend.details(2).result(5)
        with pytest.raises(BackendError, match="no slot 9"):
            backend.details(9).result(1)
    assert details.params["n_predict"] == 120
    assert details.prompt is None
    assert "LLAMA_SERVER_SLOTS_DEBUG" in details.note


def test_a_key_press_looks_at_once() -> None:
    with FakeServer(healthy(json_reply([slot(busy=False)]))) as server, watching(server, interval=30.0) as backend:
        backend.wait_until(has_looked, 5)
        backend.look_now()
        server.wait_for("/slots", 2, seconds=1)


def test_the_interval_can_be_changed() -> None:
    with FakeServer(healthy(json_reply([slot(decoded=2)]))) as server, watching(server, interval=30.0) as backend:
        backend.wait_until(has_looked, 5)
        backend.set_interval(0.1)
        server.wait_for("/slots", 5, seconds=3)
        assert backend.latest().poll is not None
        backend.set_interval(0.0001)
        poll = backend.latest().poll
    assert poll is not None
    assert poll.interval == 0.1


# Slot actions


@pytest.mark.parametrize(
    ("action", "id_", "filename", "reply"),
    [(SlotAction.ERASE, 1, None, "slot_erase"), (SlotAction.SAVE, 0, "x.bin", "slot_save")],
)
def test_actions(action: SlotAction, id_: int, filename: str | None, reply: str) -> None:
    path = f"/slots/{id_}"
    routes = healthy(json_reply([slot(0), slot(1)])) | {path: recorded(reply)}
    with FakeServer(routes) as server, watching(server) as backend:
        backend.wait_until(has_looked, 5)
        result = backend.slot_action(action, id_, filename).result(5)
        (sent,) = server.asked(path)
    assert sent.query == {"action": action.value}
    assert sent.json == ({"filename": filename} if filename else {})
    assert result.slot == id_
    assert result.n_tokens > 0
    assert str(result.n_tokens) in result.text


def test_c35_an_id_that_the_server_does_not_show_is_refused() -> None:
    with FakeServer(healthy(json_reply([slot(0), slot(1)]))) as server, watching(server) as backend:
        backend.wait_until(has_looked, 5)
        for wrong in (2, 9, -1):
            with pytest.raises(BackendError, match="shows no slot"):
                backend.slot_action(SlotAction.ERASE, wrong).result(1)
        assert all(request.method == "GET" for request in server.requests)


def test_c35_a_slot_that_tells_no_id_of_its_own_is_left_alone() -> None:
    rows = [slot(0), slot(1), slot(1), {**slot(0), "id": None}]
    with FakeServer(healthy(json_reply(rows))) as server, watching(server) as backend:
        shown = backend.wait_until(has_looked, 5).slots
        assert shown is not None
        assert [view.id for view in shown] == [0, 1, 2, 3]
        for doubtful in (1, 2, 3):
            with pytest.raises(BackendError, match="shows no slot"):
                backend.slot_action(SlotAction.ERASE, doubtful).result(1)
        assert all(request.method == "GET" for request in server.requests)


def test_actions_that_the_server_refuses() -> None:
    routes = healthy(json_reply([slot(0)])) | {"/slots/0": recorded("slots_action_off_501")}
    with FakeServer(routes) as server, watching(server) as backend:
        backend.wait_until(has_looked, 5)
        with pytest.raises(BackendError, match="--slot-save-path"):
            backend.slot_action(SlotAction.ERASE, 0).result(5)
        with pytest.raises(BackendError, match="needs a file name"):
            backend.slot_action(SlotAction.SAVE, 0).result(5)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (json_reply({"id_slot": 3, "n_erased": 5}), "the server says that it was slot 3"),
        (json_reply({"id_slot": 0, "n_erased": -5}), "does not say how many tokens"),
        (Reply(status=302, headers={"Location": "https://u:secret@h/login?token=1"}), "a redirect to https://h/login$"),
        (HTML, "a web page instead of JSON"),
    ],
)
def test_an_action_is_not_called_done_where_the_answer_says_something_else(reply: Reply, words: str) -> None:
    with FakeServer(healthy(json_reply([slot(0)])) | {"/slots/0": reply}) as server, watching(server) as backend:
        backend.wait_until(has_looked, 5)
        with pytest.raises(BackendError, match=words):
            backend.slot_action(SlotAction.ERASE, 0).result(5)


def test_an_action_on_a_server_that_has_gone_says_so_in_one_line() -> None:
    with FakeServer(healthy()) as server, watching(server) as backend:
        backend.wait_until(has_looked, 5)
        server.stop()
        with pytest.raises(BackendError, match="erase of slot 0 failed: Connection refused"):
            backend.slot_action(SlotAction.ERASE, 0).result(5)


def test_c29_an_action_on_a_busy_slot_blocks_nobody() -> None:
    late = Reply(recorded("slot_erase").body, delay=0.4)
    routes = healthy(json_reply([slot(1, decoded=3)])) | {"/slots/1": late}
    with FakeServer(routes) as server, watching(server) as backend:
        backend.wait_until(has_looked, 5)
        begin = time.monotonic()
        future = backend.slot_action(SlotAction.ERASE, 1)
        assert time.monotonic() - begin < 0.3
        server.wait_for("/slots", len(server.asked("/slots")) + 2)
        assert not future.done()
        assert future.result(5).n_tokens > 0


# Retune


def test_the_preview_ends_in_a_command_to_copy() -> None:
    with FakeServer(healthy(json_reply([slot(id_, n_ctx=2048) for id_ in range(4)]))) as server:
        with watching(server, facts=SMOL) as backend:
            backend.wait_until(lambda s: has_looked(s) and s.facts.n_ctx_train is not None, 5)
            assert backend.flags.parallel == 4
            preview = backend.preview(LaunchFlags(ctx_size=8192, parallel=2))
        assert preview.command == (
            "llama-server -m SmolLM2-135M-Instruct-Q4_1.gguf -c 8192 -np 2"
            f" --host 127.0.0.1 --port {server.port} --metrics"
        )
    assert (preview.n_slots, preview.n_ctx_slot, preview.pool_cells, preview.unified) == (2, 4096, 8192, False)
    assert preview.kv_bytes == 8192 * 30 * 3 * 64 * 2 * 2
    assert any("n_ctx_seq" in line for line in preview.log)
    assert "the present -c" in preview.unknown
    assert any("restart ends every running" in note for note in preview.notes)


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("http://box:9000/llm", "--host box --port 9000 --api-prefix /llm"),
        ("http://box", "--host box --port 80"),
        ("unix:///tmp/llama.sock", "--host /tmp/llama.sock"),
    ],
)
def test_the_command_listens_where_the_server_does(address: str, place: str) -> None:
    preview = RemoteBackend(address).preview(LaunchFlags(ctx_size=512, parallel=1))
    assert preview.command == f"llama-server -m MODEL.gguf -c 512 -np 1 {place}"


def test_what_is_unknown_is_said_to_be() -> None:
    props = json_reply({"total_slots": 4, "default_generation_settings": {"n_ctx": 2048}})
    routes = healthy(props=props, **{"v1/models": json_reply({"data": []})})
    with FakeServer(routes) as server, watching(server, api_key="k-secret") as backend:
        backend.wait_until(has_looked, 5)
        preview = backend.preview(LaunchFlags(parallel=2, kv_unified=True))
    assert preview.n_ctx_slot is None
    assert preview.kv_bytes is None
    assert "KV bytes (give the model file with --model FILE)" in preview.unknown
    assert preview.command is not None
    assert "-m MODEL.gguf" in preview.command
    assert preview.command.endswith('--api-key "$LLAMA_API_KEY"')
    assert "k-secret" not in preview.command


def test_flags_that_cannot_start_have_no_command() -> None:
    backend = RemoteBackend("localhost:1")
    preview = backend.preview(LaunchFlags(ctx_size=4096, parallel=300))
    backend.close()
    assert preview.error is not None
    assert "256" in preview.error
    assert preview.command is None


def test_words_of_the_server_cannot_break_out_of_the_command() -> None:
    props = json_reply({"model_path": "/m/a; rm -rf '$HOME'.gguf\x1b[2J", "total_slots": 1})
    with FakeServer(healthy(props=props)) as server, watching(server) as backend:
        backend.wait_until(has_looked, 5)
        command = backend.preview(LaunchFlags(ctx_size=4096, parallel=2)).command
    assert command is not None
    assert "'/m/a; rm -rf '\"'\"'$HOME'\"'\"'.gguf␛[2J'" in command


def test_a_running_server_cannot_be_retuned() -> None:
    backend = RemoteBackend("localhost:1")
    with pytest.raises(BackendError, match="restart it with: llama-server"):
        backend.retune(LaunchFlags(ctx_size=4096, parallel=2)).result(1)
    backend.close()


# Threads


def threads_since(before: list[threading.Thread]) -> list[str]:
    """Names of our own threads that were not there before."""
    found = (thread.name for thread in threading.enumerate() if thread not in before)
    return [name for name in found if name.startswith("slotview")]


def test_closing_ends_all_threads_and_is_idempotent() -> None:
    before = threading.enumerate()
    with FakeServer(healthy(json_reply([slot()]))) as server:
        with watching(server) as backend:
            backend.wait_until(has_looked, 5)
        backend.close()
        assert threads_since(before) == []


def test_several_servers_cost_two_threads_each() -> None:
    with FakeServer(healthy(json_reply([slot()]))) as server:
        before = threading.enumerate()
        backends = [RemoteBackend(server.url) for _ in range(3)]
        for backend in backends:
            backend.start()
        n_threads = len(threads_since(before))
        for backend in backends:
            assert backend.wait_until(has_looked, 5).health.state is HealthState.OK
            backend.close()
    assert n_threads == 6


TEXTS = [slot(id_, prompt='say \\"hi\\"\n' * 120_000) for id_ in range(3)]
FIELDS = [slot(id_, params={f"key{n}": [n, 1.5, "word"] for n in range(1500)}) for id_ in range(100)]


@pytest.mark.parametrize("rows", [TEXTS, FIELDS], ids=["texts", "fields"])
def test_a_large_answer_does_not_stall_the_other_threads(rows: list[dict[str, object]]) -> None:
    """A parser holds the interpreter while it works; the screen's thread must get its turn all the same."""
    body = json_reply(rows).body
    assert 4_000_000 < len(body) < 8_000_000
    stalls = (longest_stall(lambda: read_slots(parse_json(body))) for _ in range(40))
    assert any(stall < 0.05 for stall in stalls)  # what else runs here counts too, but not every time


def longest_stall(work: Callable[[], object]) -> float:
    """Seconds this thread was held up at most while another one worked."""
    go = threading.Event()
    worker = threading.Thread(target=lambda: go.wait() and work())
    worker.start()
    stalls = []
    begin = time.perf_counter()
    go.set()
    while worker.is_alive():
        time.sleep(0.001)
        now = time.perf_counter()
        stalls.append(now - begin)
        begin = now
    return max(stalls)


def test_an_answer_that_nobody_understands_ends_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def stumble(answer: object) -> None:
        raise TypeError("oh")

    with FakeServer(healthy(json_reply([slot(decoded=1)]))) as server, watching(server) as backend:
        before = backend.wait_until(has_looked, 5)
        monkeypatch.setattr(knowledge, "read_slots", stumble)
        backend.wait_until(lambda s: s.facts.endpoints["slots"].state is EndpointState.BAD, 5)
        monkeypatch.undo()
        backend.look_now()
        after = backend.wait_until(lambda s: s.health.state is HealthState.OK and s.serial > before.serial, 5)
    assert after.health.state is HealthState.OK
