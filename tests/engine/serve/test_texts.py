"""Small helpers over HTTP (spec §7.12), and routes for which there is nothing here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engine.stub_model import ByteTokenizer, StubModel

from .face import Face

CHAT = "/v1/chat/completions"
MESSAGES = [{"role": "user", "content": "Hi"}]
PIECES = [{"id": 97, "piece": "a"}, {"id": 195, "piece": [195]}, {"id": 169, "piece": [169]}]
DONE = {"id": "chatcmpl-1", "action": "reasoning_end"}


@pytest.fixture(scope="module")
def face() -> Iterator[Face]:
    with Face("-np 1", StubModel(tokenizer=ByteTokenizer(add_bos=True))) as running:
        yield running


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        ("/tokenize", {}, {"tokens": []}),
        ("/tokenize", {"content": "ab"}, {"tokens": [97, 98]}),
        ("/tokenize", {"content": ["a", 5, 6.9, "b"], "add_special": True}, {"tokens": [1, 97, 5, 6, 98]}),
        ("/tokenize", {"content": ["a", "b"]}, {"tokens": [97, 98]}),
        ("/tokenize", {"content": "aé", "with_pieces": True}, {"tokens": PIECES}),
        ("/detokenize", {}, {"content": ""}),
        ("/detokenize", {"tokens": [97, 0, 98.5]}, {"content": "a<end>b"}),
        ("/apply-template", {"messages": MESSAGES}, {"prompt": "<user>Hi<assistant>"}),
        (f"{CHAT}/input_tokens", {"messages": MESSAGES}, {"input_tokens": 20, "object": "response.input_tokens"}),
        (f"{CHAT}/control", DONE, {"success": False, "message": "no active completion for this id"}),
        ("/lora-adapters", [], {"success": True}),
    ],
)
def test_answers(face: Face, path: str, body: object, expected: object) -> None:
    answer = face.ask(path, body)
    assert (answer.status, answer.json) == (200, expected)


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("/tokenize", {"content": 5}, 400, "[json.exception.type_error.302] type must be string, but is number"),
        ("/tokenize", {"content": [None]}, 400, "[json.exception.type_error.302] type must be number, but is null"),
        (
            "/tokenize",
            {"content": [-1], "with_pieces": True},
            500,
            "vector::_M_range_check: __n (which is 18446744073709551615) >= this->size() (which is 256)",
        ),
        ("/detokenize", {"tokens": "a"}, 400, "[json.exception.type_error.302] type must be array, but is string"),
        (
            "/detokenize",
            {"tokens": [256]},
            500,
            "vector::_M_range_check: __n (which is 256) >= this->size() (which is 256)",
        ),
        (f"{CHAT}/control", {"action": "reasoning_end"}, 400, "missing completion id"),
        (f"{CHAT}/control", {"id": "x", "action": "stop"}, 400, "unknown control action"),
        ("/lora-adapters", {}, 400, "Request body must be an array"),
        ("/infill", {}, 501, "Infill is not supported by this model: "),
        ("/v1/embeddings", {}, 501, "This server does not support embeddings. Start it with `--embeddings`"),
        ("/tools", {}, 403, "this feature is disabled"),
    ],
)
def test_refusals(face: Face, path: str, body: object, status: int, message: str) -> None:
    answer = face.ask(path, body)
    assert answer.status == status
    assert str(answer.error["message"]).startswith(message)


def test_there_are_no_adapters(face: Face) -> None:
    assert face.ask("/lora-adapters").rows == []


def test_a_model_is_known_by_its_aliases_and_tags() -> None:
    with Face("-np 1 -a b,a --tags y,x") as face:
        told = face.ask("/v1/models").json["data"]
        assert isinstance(told, list)
        assert [told[0][name] for name in ("id", "aliases", "tags")] == ["a", ["a", "b"], ["x", "y"]]
        assert face.ask("/completion", {"prompt": "x", "n_predict": 1}).json["model"] == "a"
