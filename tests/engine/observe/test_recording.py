"""Recordings come back as they were, without secrets, and broken ones are named in one line."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from queue import Queue
from types import MappingProxyType

import pytest
from msgspec.structs import replace

from slotview.engine.backend import Backend, BackendError, FireRequest, SlotAction
from slotview.engine.context import LaunchFlags
from slotview.engine.events import LogLine, Notice, PoolFull, RequestRefused, TaskEnded, TaskStarted
from slotview.engine.observe.recording import reader as recordings
from slotview.engine.observe.recording.reader import load_recording
from slotview.engine.observe.recording.recorder import Recorder
from slotview.engine.observe.recording.replay import ReplayBackend
from slotview.engine.observe.recording.scrub import scrub
from slotview.engine.observe.recording.tape import Tape
from slotview.engine.snapshot import (
    EndpointState,
    EndpointView,
    HealthState,
    PaceView,
    ServerFacts,
    Snapshot,
    Totals,
    WaitingRequest,
    WaitingView,
)
from tests.fake_backend import FakeBackend

from .polls import generating, idle, look, pool

POLL = {
    "t": 0.5,
    "slots": [
        {
            "id": 0,
            "n_ctx": 2048,
            "is_processing": True,
            "id_task": 315,
            "n_prompt_tokens": 18,
            "n_prompt_tokens_processed": 2,
            "n_prompt_tokens_cache": 11,
            "next_token": [{"has_next_token": True, "n_remain": 59, "n_decoded": 5}],
        },
        {"id": 1, "n_ctx": 2048, "is_processing": False},
    ],
    "metrics": {"requests_deferred": 4.0, "tokens_predicted_total": 760.0, "n_busy_slots_per_decode": 2.7},
}


def full_look(at: float) -> Snapshot:
    facts = ServerFacts(
        source="http://host:8080/llm",
        model="m",
        models=(("a", "ready"), ("b", "stopped")),
        endpoints=MappingProxyType({"slots": EndpointView(EndpointState.OK, answered_at=at, seconds=0.01)}),
    )
    return look(
        at,
        generating(0, 7, 5 + int(at), n_tokens=30),
        idle(1),
        facts=facts,
        waiting=WaitingView(1, (WaitingRequest(9, id_slot=0, since=0.25),)),
        pool=pool(30, 0, 2048, unified=True),
        totals=Totals(predicted_tokens=3.0),
        pace=PaceView("m4-9b", 1.5),
    )


def write(path: Path, *looks: Snapshot) -> Path:
    with Recorder(path) as recorder:
        for snapshot in looks:
            recorder.write(snapshot, [TaskStarted(snapshot.time, 0, 7, 0.5, 25)])
    return path


def test_everything_comes_back(tmp_path: Path) -> None:
    looks = [full_look(0.0), full_look(1.0)]
    recording = load_recording(write(tmp_path / "a.jsonl", *looks))
    assert [frame.snapshot for frame in recording.frames] == looks
    assert [frame.events for frame in recording.frames] == [
        (TaskStarted(0.0, 0, 7, 0.5, 25),),
        (TaskStarted(1.0, 0, 7, 0.5, 25),),
    ]
    assert recording.note == ""


def test_a_look_that_says_nothing_new_is_left_out(tmp_path: Path) -> None:
    first = full_look(0.0)
    path = write(tmp_path / "a.jsonl", first, replace(first, time=0.25, serial=9), full_look(1.0))
    recording = load_recording(path)
    assert [frame.snapshot.time for frame in recording.frames] == [0.0, 1.0]
    assert len(recording.frames[0].events) == 2


def test_no_secret_and_no_prompt_reaches_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    facts = ServerFacts(source="http://anna:hunter2@host:8080/x?token=abc123")
    events = [
        Notice(0.0, "401 from http://anna:hunter2@host/slots?api_key=abc123, sent Bearer tok-abc123"),
        LogLine(0.0, "I", "slot launch_slot_: id  0 | task 3 | processing task, --api-key abc123"),
        LogLine(0.0, "W", "slot update_slots: id  0 | task 3 | old: ... my abc123 diary"),
        LogLine(0.0, "D", "anything: abc123"),
        LogLine(0.0, "", "slot process_toke: id  1 | task 4 | n_gen = 1, next token:   476 ' abc123'"),
    ]
    with Recorder(path) as recorder:
        recorder.write(look(0.0, idle(0), facts=facts), events)
    text = path.read_text()
    assert "abc123" not in text
    assert "hunter2" not in text
    assert "anna" not in text
    recording = load_recording(path)
    assert recording.frames[0].snapshot.facts.source == "http://host:8080/x"
    assert [type(event) for event in recording.frames[0].events] == [Notice, LogLine]


@pytest.mark.parametrize(
    "text",
    [
        "http://host:8080/slots",
        "task 3 has 5 tokens",
        "1 key was pressed",
        "a@b",
        "API key needed",
        "the API key is wrong",
        "give it with --api-key or in LLAMA_API_KEY",
        "let the proxy drop the header Authorization: X-Api-Key carries the key",
        "a basic idea",
    ],
)
def test_harmless_text_stays(text: str) -> None:
    assert scrub(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "--api-key s3cret",
        "--api-key=s3cret",
        "--api-key-file s3cret",
        "X-Api-Key: s3cret",
        "LLAMA_API_KEY=s3cret",
        "{'api_key': 's3cret'}",
        "Bearer s3cret",
        "Authorization: Basic s3cretBWU6aXQ=",
    ],
)
def test_secrets_go(text: str) -> None:
    assert "s3cret" not in scrub(text)


def test_a_series_of_polls_can_be_replayed(tmp_path: Path) -> None:
    path = tmp_path / "polls.jsonl"
    path.write_text(json.dumps(POLL) + "\n" + json.dumps(POLL | {"t": 1.5}) + "\n")
    first = load_recording(path).frames[0].snapshot
    assert first.slots_at == 0.5
    assert first.waiting.count == 4
    assert first.slots is not None
    assert (first.slots[0].n_decoded, first.slots[0].task) == (5, 315)
    assert (first.pool.active, first.pool.candidates, first.pool.estimated) == (18, (2048, 4096), True)
    assert (first.totals.predicted_tokens, first.totals.busy_per_decode) == (760, 2.7)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "no looks"),
        ("hello\n", "line 1"),
        ('{"slotview_recording": 1}\n', "no looks"),
        ('{"slotview_recording": 99}\n', "another version (99)"),
        ('{"slotview_recording": 1}\n{"snapshot": {"slots": [{"id": "x", "state": "idle"}]}}\n', "slots[0].id"),
        ('{"slotview_recording": 1}\n{"snapshot": {"health": {"state": "well"}}}\n', "health.state"),
        ('{"slotview_recording": 1}\n{"snapshot": {}}\n[]\n{"snapshot": {}}\n', "line 3"),
        ('{"slotview_recording": 1}\n{"look": {}}\n', "line 2 cannot be read: neither a snapshot nor events"),
        ('{"snapshot": {}, "events": ["x"]}\n', "line 1 cannot be read: an event is not an object"),
        ('{"t": "x", "slots": []}\n', "t is not a number"),
        ("[" * 100_000 + "\n", "line 1 cannot be read: nested too deeply"),
        ('{"slotview_recording": "\\u001b[2J"}\n', "another version (␛[2J)"),
        ('{"snapshot": {"time": NaN}}\n', "NaN is not a number that makes sense here"),
        ('{"snapshot": {"time": -Infinity}}\n', "-Infinity is not a number"),
        ('{"snapshot": {"time": 1e999}}\n', "1e999 is not a number"),
        ('{"snapshot": {"serial": 99999999999999999999}}\n', "99999999999999999999 is not a number"),
    ],
)
def test_a_broken_file_gets_one_line(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(content)
    with pytest.raises(BackendError) as error:
        load_recording(path)
    assert words in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 250


def test_the_mark_that_windows_puts_before_a_text_is_no_part_of_it(tmp_path: Path) -> None:
    path = tmp_path / "polls.jsonl"
    path.write_text(json.dumps(POLL), encoding="utf-8-sig")
    assert len(load_recording(path).frames) == 1


def test_one_slot_is_the_whole_pool(tmp_path: Path) -> None:
    path = tmp_path / "polls.jsonl"
    path.write_text(json.dumps(POLL | {"slots": POLL["slots"][:1]}))  # type: ignore[index]
    assert load_recording(path).frames[0].snapshot.pool.cells == 2048


def test_polls_that_lack_tokens_do_not_say_how_full_the_pool_is(tmp_path: Path) -> None:
    path = tmp_path / "polls.jsonl"
    path.write_text(json.dumps({"t": 0.0, "slots": [{"id": 0, "n_ctx": 2048, "is_processing": True, "id_task": 1}]}))
    pool = load_recording(path).frames[0].snapshot.pool
    assert (pool.active, pool.why) == (None, "the recording does not hold the tokens of its slots")


def test_a_missing_or_foreign_file_gets_one_line(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="No such file"):
        load_recording(tmp_path / "none.jsonl")
    (tmp_path / "b.bin").write_bytes(b"\xff\xfe\x00GGUF")
    with pytest.raises(BackendError, match="not text"):
        load_recording(tmp_path / "b.bin")
    with pytest.raises(BackendError, match="cannot record to"):
        Recorder(tmp_path / "no" / "such" / "folder.jsonl")


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.jsonl", full_look(0.0))
    monkeypatch.setattr(recordings, "LARGEST", path.stat().st_size)
    assert load_recording(path).frames
    monkeypatch.setattr(recordings, "LARGEST", path.stat().st_size - 1)
    with pytest.raises(BackendError, match=r"^a\.jsonl is too large to replay"):
        load_recording(path)


class FullDisk(StringIO):
    """A file for which there was room only at first."""

    def flush(self) -> None:
        if self.tell() > 100:
            raise OSError(28, "No space left on device")

    def close(self) -> None:
        if self.closed:
            return
        try:
            self.flush()
        finally:
            super().close()


def test_a_full_disk_ends_the_recording_with_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "open", lambda *_, **__: FullDisk())
    with Recorder(tmp_path / "a.jsonl") as recorder:
        with pytest.raises(BackendError, match=r"a\.jsonl stopped: No space left on device$"):
            recorder.write(full_look(0.0))
        with pytest.raises(BackendError, match=r"is closed$"):
            recorder.write(full_look(1.0))


def test_a_full_disk_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "open", lambda *_, **__: FullDisk())
    told: Queue[str] = Queue()
    tape = Tape(FakeBackend(full_look(0.0)), tmp_path / "a.jsonl", every=0.01, tell=told.put)
    assert told.get(timeout=20).endswith("a.jsonl stopped: No space left on device")
    tape.close()
    assert tape.error is not None


def test_a_file_cut_off_in_its_last_line_is_shown_up_to_there(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", full_look(0.0), full_look(1.0))
    path.write_text(path.read_text()[:-20])
    recording = load_recording(path)
    assert [frame.snapshot.time for frame in recording.frames] == [0.0]
    assert recording.note == "a.jsonl is cut off in line 3; what came before is shown"


def test_events_of_later_versions_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"snapshot": {}, "events": [{"kind": "Novelty"}, {"kind": "PoolFull", "time": 1, "n_tasks": 2}]}\n'
    )
    assert load_recording(path).frames[0].events == (PoolFull(1.0, 2),)


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def replay(tmp_path: Path, clock: Clock, speed: float = 1.0) -> ReplayBackend:
    backend = ReplayBackend(write(tmp_path / "a.jsonl", full_look(0.0), full_look(2.0), full_look(4.0)), speed, clock)
    backend.start()
    return backend


def test_a_recording_lasts_from_its_first_look_to_its_last(tmp_path: Path) -> None:
    assert load_recording(write(tmp_path / "a.jsonl", full_look(100.0), full_look(104.0))).seconds == 4.0


def test_replay_follows_the_clock(tmp_path: Path) -> None:
    clock = Clock()
    backend = replay(tmp_path, clock)
    assert backend.latest() == replace(full_look(0.0), is_replayed=True)
    clock.now += 3.0
    between = backend.latest()
    assert (between.time, between.slots_at, between.age) == (3.0, 2.0, 1.0)
    assert between.health.state is HealthState.OK
    batch = backend.events(0)
    assert [event.time for event in batch.events] == [0.0, 2.0]
    assert backend.events(batch.cursor).events == ()


def test_replay_at_double_speed_ends_and_plays_again(tmp_path: Path) -> None:
    clock = Clock()
    backend = replay(tmp_path, clock, speed=2.0)
    clock.now += 2.5
    last = backend.latest()
    assert (last.time, last.health.state) == (4.0, HealthState.ENDED)
    assert "end of the recording (4 s)" in last.health.message
    cursor = backend.events(0).cursor
    backend.look_now()
    assert backend.latest().time == 0.0
    again = backend.events(cursor)
    assert [type(event) for event in again.events] == [Notice, TaskStarted]


def test_the_flags_of_a_recording_are_what_it_tells_of_the_server(tmp_path: Path) -> None:
    told = ServerFacts(source="http://host:8080", n_ctx=8192, n_slots=4, unified=True)
    for facts, flags in (
        (told, LaunchFlags(ctx_size=8192, parallel=4, kv_unified=True)),
        (ServerFacts(source="http://host:8080"), LaunchFlags()),
    ):
        path = tmp_path / f"{facts.n_slots}.jsonl"
        assert ReplayBackend(write(path, look(0.0, idle(0), facts=facts))).flags == flags


def test_a_recording_cannot_be_changed(tmp_path: Path) -> None:
    backend: Backend = replay(tmp_path, Clock())
    assert backend.capabilities.replay
    with pytest.raises(BackendError, match="cannot be played"):
        ReplayBackend(tmp_path / "a.jsonl", speed=0)
    with pytest.raises(BackendError, match="watched, not changed"):
        backend.submit(FireRequest("hello"))
    with pytest.raises(BackendError, match="watched, not changed"):
        backend.retune(LaunchFlags()).result()
    with pytest.raises(BackendError, match="watched, not changed"):
        backend.slot_action(SlotAction.ERASE, 0).result()
    with pytest.raises(BackendError, match="watched, not changed"):
        backend.choose_model("other")
    assert backend.preview(LaunchFlags()).error == "this is a recording: it can be watched, not changed"
    assert backend.details(0).result().note
    backend.close()


def test_ended_tasks_survive_with_all_their_fields(tmp_path: Path) -> None:
    ended = TaskEnded(0.0, 0, 7, "limit", n_decoded=5, n_prompt=25, truncated=True, error=None)
    with Recorder(tmp_path / "a.jsonl") as recorder:
        recorder.write(full_look(0.0), [ended])
    assert load_recording(tmp_path / "a.jsonl").frames[0].events == (ended,)


def test_a_tape_keeps_what_a_backend_tells_until_it_is_closed(tmp_path: Path) -> None:
    backend, path = FakeBackend(full_look(0.0)), tmp_path / "a.jsonl"
    tape = Tape(backend, path, every=3600)
    backend.push(full_look(1.0), TaskStarted(1.0, 0, 7, 0.5, 25))
    tape.close()
    frames = load_recording(path).frames
    assert [frame.snapshot.slots for frame in frames] == [full_look(1.0).slots]
    assert [event for frame in frames for event in frame.events] == [TaskStarted(1.0, 0, 7, 0.5, 25)]
    assert tape.error is None


def test_a_tape_writes_over_no_file_and_says_why_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("kept")
    with pytest.raises(BackendError, match="there is such a file"):
        Tape(FakeBackend(full_look(0.0)), path)
    assert path.read_text() == "kept"

    def full(recorder: Recorder, snapshot: Snapshot, events: object) -> None:
        raise BackendError("no space left")

    monkeypatch.setattr(Recorder, "write", full)
    tape = Tape(FakeBackend(full_look(0.0)), tmp_path / "b.jsonl")
    tape.close()
    assert tape.error == "no space left"


def test_only_refusals_that_quote_nothing_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    too_long = "request (5000 tokens) exceeds the available context size (2048 tokens)"
    with Recorder(path) as recorder:
        recorder.write(look(0.0, idle(0)), [RequestRefused(0.0, 1, too_long), RequestRefused(0.0, 2, "bad: my text")])
    assert "my text" not in path.read_text()
    assert load_recording(path).frames[0].events == (RequestRefused(0.0, 1, too_long),)
