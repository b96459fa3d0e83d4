"""What an answer holds where the request asks for it: some fields only, probabilities, progress, times (spec §7.9)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from .face import Face

NATIVE, TEXT, CHAT = "/completion", "/v1/completions", "/v1/chat/completions"
SHORT = {"prompt": "hello", "messages": [{"role": "user", "content": "Hi"}], "n_predict": 3, "temperature": 0.0}


@pytest.fixture(scope="module")
def face() -> Iterator[Face]:
    with Face("-np 1 -cram 0") as running:
        yield running


def said(event: dict[str, Any]) -> str:
    """The text of an answer or an event of any of the three routes."""
    if "content" in event:
        return str(event["content"])
    (choice,) = event["choices"]
    message = choice.get("message", choice.get("delta", {}))
    return str(choice.get("text", message.get("content") or ""))


def probabilities(event: dict[str, Any], names: str) -> list[dict[str, Any]]:
    """Its entries about tokens, whose keys must be the documented ones."""
    told = event["completion_probabilities"] if "content" in event else event["choices"][0]["logprobs"]["content"]
    for entry in told:
        assert " ".join(entry) == names
    return list(told)


def test_some_fields_only(face: Face) -> None:
    wanted = ["tokens_predicted", "timings/prompt_n", "generation_settings/nothing", "stop/nothing", "nothing"]
    answer = face.ask(NATIVE, SHORT | {"response_fields": wanted, "cache_prompt": False}).json
    assert answer == {"tokens_predicted": 3, "timings/prompt_n": 5}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("path", "asked", "names"),
    [
        (NATIVE, {"n_probs": 2}, "id token bytes logprob top_logprobs"),
        (NATIVE, {"n_probs": 2, "post_sampling_probs": True}, "id token bytes prob top_probs"),
        (TEXT, {"logprobs": 2}, "id token bytes logprob top_logprobs"),
        (CHAT, {"logprobs": True, "top_logprobs": 2}, "id token bytes logprob top_logprobs"),
    ],
)
def test_probabilities_of_each_token(face: Face, path: str, asked: dict[str, Any], names: str, stream: bool) -> None:
    answer = face.ask(path, SHORT | asked | {"stream": stream})
    events = [event for event in answer.events if said(event)] if stream else [answer.json]
    told = [entry for event in events for entry in probabilities(event, names)]
    text = "".join(said(event) for event in events)
    assert len(told) == len(text) == 3
    for entry, letter in zip(told, text, strict=True):
        top = entry[names.rsplit(maxsplit=1)[-1]]
        assert (entry["token"], entry["bytes"]) == (letter, [ord(letter)])
        assert top[0]["token"] == letter
        assert len(top) == (1 if "prob" in entry else 2)  # what is sampled greedily is certain


@pytest.mark.parametrize(("path", "total"), [(NATIVE, 5), (TEXT, 5), (CHAT, 19)])
def test_progress_and_times_of_each_token(face: Face, path: str, total: int) -> None:
    wishes = {"stream": True, "return_progress": True, "timings_per_token": True, "cache_prompt": False}
    events = face.ask(path, SHORT | wishes).events
    told: list[Any] = [event["prompt_progress"] for event in events if "prompt_progress" in event]
    assert [(one["total"], one["cache"], one["processed"]) for one in told] == [(total, 0, 0), (total, 0, total)]
    timed: list[Any] = [event for event in events if "timings" in event]
    assert [one["timings"]["predicted_n"] for one in timed] == [0, 0, 1, 2, 3, 3]
    quiet = face.ask(path, SHORT | {"stream": True, "cache_prompt": False}).events
    assert [event for event in quiet if "timings" in event] == quiet[-1:]
    assert not [event for event in quiet if "prompt_progress" in event]


def test_tokens_where_they_are_wanted_but_not_at_the_end_of_a_stream(face: Face) -> None:
    assert face.ask(NATIVE, SHORT).json["tokens"] == []
    answer = face.ask(NATIVE, SHORT | {"return_tokens": True}).json
    assert answer["tokens"] == list(said(answer).encode())
    events = face.ask(NATIVE, SHORT | {"return_tokens": True, "stream": True}).events
    assert [event["tokens"] for event in events] == [*([letter] for letter in said(answer).encode()), []]


@pytest.mark.parametrize("path", [NATIVE, TEXT])
def test_the_event_that_completes_a_stop_word_has_times(face: Face, path: str) -> None:
    second = said(face.ask(path, SHORT).json)[1]
    events = face.ask(path, SHORT | {"stop": [second], "stream": True}).events
    assert ["timings" in event for event in events] == [False, True, True]


@pytest.mark.parametrize(("path", "n_told", "kind"), [(TEXT, 4, "Content-only"), (CHAT, 1, "peg-native")])
def test_the_native_answer_beside_openais(face: Face, path: str, n_told: int, kind: str) -> None:
    wishes = {"verbose": True, "response_fields": ["content", "generation_settings/chat_format"]}
    answer = face.ask(path, SHORT | wishes).json
    assert answer["__verbose"] == {"content": said(answer), "generation_settings/chat_format": kind}
    assert list(answer)[-2:] == ["__verbose", "timings"]
    told = [
        event["__verbose"] for event in face.ask(path, SHORT | wishes | {"stream": True}).events if "__verbose" in event
    ]
    assert len(told) == n_told
    assert told[-1] == {"content": "", "generation_settings/chat_format": kind}
