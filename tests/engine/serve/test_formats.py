"""Answers have the keys of recorded ones, in their order, with values of the same types."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from .face import Face

HERE = Path(__file__).parent / "data"
THERE = Path(__file__).parents[1] / "remote" / "data"
USER = [{"role": "user", "content": "hi"}]
SHORT: dict[str, object] = {"n_predict": 3, "temperature": 0}


@pytest.fixture(scope="module")
def face(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Face]:
    folder = tmp_path_factory.mktemp("saves")
    with Face(f"-c 1024 -np 2 --metrics --slot-save-path {folder}") as running:
        yield running


def recorded(name: str) -> object:
    place = HERE / f"{name}.json"
    record = json.loads((place if place.exists() else THERE / f"{name}.json").read_text(encoding="utf-8"))
    if "body" in record:
        return record["body"]
    text = record["body_text"]
    return [json.loads(block[6:]) for block in text.split("\n\n") if block.startswith("data: {")] or text


def shape(value: object) -> object:
    """Keys in order and types, at any depth; of a list its first item."""
    if isinstance(value, dict):
        return [(key, shape(item)) for key, item in value.items()]
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return type(value).__name__


@pytest.mark.parametrize(
    ("name", "path", "body"),
    [
        ("completion", "/completion", {"prompt": "hello", **SHORT}),
        ("v1_completion", "/v1/completions", {"prompt": "hello", **SHORT}),
        ("chat", "/v1/chat/completions", {"messages": USER, **SHORT}),
        ("props", "/props", None),
        ("models", "/v1/models", None),
    ],
)
def test_an_answer_has_the_recorded_shape(face: Face, name: str, path: str, body: object) -> None:
    answer = face.ask(path, body)
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "application/json; charset=utf-8"
    assert shape(answer.json) == shape(recorded(name))


@pytest.mark.parametrize(
    ("name", "path", "body"),
    [
        ("completion_stream", "/completion", {"prompt": "hello", "stream": True, **SHORT}),
        ("chat_stream", "/v1/chat/completions", {"messages": USER, "stream": True, **SHORT}),
    ],
)
def test_events_have_the_recorded_shapes(face: Face, name: str, path: str, body: object) -> None:
    answer = face.ask(path, body)
    theirs = recorded(name)
    assert isinstance(theirs, list)
    assert answer.headers["Content-Type"] == "text/event-stream"
    assert [shape(event) for event in (answer.events[0], answer.events[1], answer.events[-1])] == [
        shape(event) for event in (theirs[0], theirs[1], theirs[-1])
    ]
    assert answer.text.endswith("data: [DONE]\n\n") is (name == "chat_stream")


def test_slots_before_and_after_their_first_task() -> None:
    with Face("-np 1") as fresh:
        assert [list(slot) for slot in fresh.ask("/slots").rows] == [["id", "n_ctx", "speculative", "is_processing"]]
        fresh.ask("/completion", {"prompt": "hello", **SHORT})
        theirs = recorded("slots_after")
        assert isinstance(theirs, list)
        used = next(slot for slot in theirs if "id_task" in slot)
        assert shape(fresh.ask("/slots").rows[0]) == shape(used)


def test_metrics_have_the_recorded_names_and_help(face: Face) -> None:
    def names(text: str) -> list[str]:
        return [line if line.startswith("#") else line.split(" ")[0] for line in text.splitlines()]

    answer = face.ask("/metrics")
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4"
    assert names(answer.text) == names(str(recorded("metrics_after_1")))


def test_slot_actions_have_the_recorded_shapes(face: Face) -> None:
    face.ask("/completion", {"prompt": "hello", "id_slot": 0, **SHORT})
    for action in ("save", "restore", "erase"):
        answer = face.ask(f"/slots/0?action={action}", {"filename": "a.bin"})
        assert shape(answer.json) == shape(recorded(f"slot_{action}")), action


def test_what_a_save_tells_is_what_a_restore_finds(face: Face) -> None:
    face.ask("/completion", {"prompt": "hello", "id_slot": 0, **SHORT})
    saved = face.ask("/slots/0?action=save", {"filename": "b.bin"}).json
    restored = face.ask("/slots/1?action=restore", {"filename": "b.bin"}).json
    assert (saved["n_saved"], saved["n_written"]) == (restored["n_restored"], restored["n_read"])
    again = face.ask("/completion", {"prompt": "hello", "id_slot": 1, **SHORT}).json
    timings = again["timings"]
    assert isinstance(timings, dict)
    assert (timings["cache_n"], timings["prompt_n"]) == (4, 1)
