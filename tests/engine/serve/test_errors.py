"""Refusals with their status, type and text (spec §7.1, §8), and bodies that are none."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from .face import Face

COMPLETIONS = ("/completion", "/v1/completions", "/v1/chat/completions")


@pytest.fixture(scope="module")
def face() -> Iterator[Face]:
    with Face("-c 512 -np 2") as running:
        yield running
        assert running.is_quiet


def test_a_prompt_that_is_too_long_tells_both_numbers(face: Face) -> None:
    for stream in (False, True):
        answer = face.ask("/completion", {"prompt": "x" * 256, "stream": stream})
        assert answer.status == 400
        assert answer.headers["Connection"] == "close"
        assert list(answer.error.items()) == [
            ("code", 400),
            ("message", "request (256 tokens) exceeds the available context size (256 tokens), try increasing it"),
            ("type", "exceed_context_size_error"),
            ("n_prompt_tokens", 256),
            ("n_ctx", 256),
        ]


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("/completion", {}, "[json.exception.out_of_range.403] key 'prompt' not found"),
        ("/completion", {"prompt": []}, '"prompt" must not be empty'),
        (
            "/completion",
            {"prompt": "a", "n_predict": -2},
            "Field 'n_predict': Value must be between -1 <= value <= 2147483647, but got -2",
        ),
        (
            "/completion",
            {"prompt": "a", "n_cmpl": 3},
            "Field 'n_cmpl': Value must be between 1 <= value <= 2, but got 3",
        ),
        ("/completion", {"prompt": [9999]}, "Prompt contains invalid tokens"),
        (
            "/completion",
            {"prompt": "a", "repeat_penalty": 0},
            "Failed to initialize samplers: penalty_repeat must be finite and greater than 0",
        ),
        ("/v1/chat/completions", {}, "'messages' is required"),
        ("/v1/chat/completions", {"messages": 5}, "Expected 'messages' to be an array"),
        ("/v1/chat/completions", {"messages": [{"role": "user"}]}, "All non-assistant messages must contain 'content'"),
        (
            "/v1/chat/completions",
            {"messages": [{"role": "user", "content": "a"}], "top_logprobs": 2},
            "top_logprobs requires logprobs to be set to true",
        ),
        ("/detokenize", {"tokens": ["a"]}, "[json.exception.type_error.302] type must be number, but is string"),
    ],
)
def test_a_refusal_says_what_is_wrong(face: Face, path: str, body: object, message: str) -> None:
    answer = face.ask(path, body)
    assert (answer.status, answer.error) == (400, {"code": 400, "message": message, "type": "invalid_request_error"})


@pytest.mark.parametrize("path", COMPLETIONS)
@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"nonsense", b'{"a":1} x', b'{"a":NaN}', b'{"prompt":"\xff\xfe"}', b'{"prompt":"\\ud800"}',
        b"\x00" * 100, b'{"x":"\\udc00","x":1}', b'{"x":"\\ud83d\\ude00\\ud83d"}', b'{"x":"\0"}',
        b"[" * 10_000 + b"]" * 10_000, b'{"x":' * 10_000 + b"1" + b"}" * 10_000, b"{" * 100_000, b'{"prompt":1e999}',
    ],
)  # fmt: skip
def test_bodies_that_are_no_json_are_refused_in_the_error_form(face: Face, path: str, body: bytes) -> None:
    answer = face.ask(path, body, "POST")
    assert answer.status == 400
    assert list(answer.error) == ["code", "message", "type"]
    assert "Traceback" not in answer.text


@pytest.mark.parametrize(
    ("text", "content"), [(b'"a"}\0', "a"), (b'"\\ud83d\\ude00"} \0{', "\U0001f600"), (b'"\\\\ud800"}', "\\ud800")]
)
def test_json_ends_at_a_zero_and_may_escape_a_whole_character(face: Face, text: bytes, content: str) -> None:
    assert face.ask("/tokenize", b'{"content":' + text).json == face.ask("/tokenize", {"content": content}).json


def test_json_within_a_text_is_refused_too_where_it_is_nested_too_deeply(face: Face) -> None:
    answer = face.ask("/completion", {"prompt": "a", "chat_parser": "[" * 100_000})
    assert (answer.status, answer.error["type"]) == (400, "invalid_request_error")
    assert "'chat_parser'" in answer.text


@pytest.mark.parametrize("number", [b"1" + b"0" * 400, b"-1" + b"0" * 400, b"9" * 5000])
@pytest.mark.parametrize("name", [b"temperature", b"seed", b"id_slot", b"what_nobody_reads"])
def test_a_number_that_is_none_of_64_bits_is_refused_in_the_librarys_words(
    face: Face, name: bytes, number: bytes
) -> None:
    answer = face.ask("/completion", b'{"prompt":"a","n_predict":1,"%s":%s}' % (name, number), "POST")
    message = f"[json.exception.out_of_range.406] number overflow parsing '{number.decode()}'"
    assert (answer.status, answer.error["message"]) == (400, message)


def test_a_number_may_have_as_many_digits_as_it_likes(face: Face, tmp_path: object) -> None:
    digits = "9" * 5000
    body = {"prompt": "a", "n_predict": 1, "logit_bias": {digits: 1, "0" * 5000 + "5": 1}}
    answer = face.ask("/completion", body)
    assert answer.json["generation_settings"]["logit_bias"] == [{"bias": 1, "token": 5}]  # type: ignore[index]
    long_length = b"POST /tokenize HTTP/1.1\r\nContent-Length: " + b"0" * 5000 + b"2\r\n\r\n{}"
    with face.send(long_length) as link:
        assert link.recv(100).startswith(b"HTTP/1.1 200 OK")
    with Face(f"-np 1 --slot-save-path {tmp_path}") as saving:
        refused = saving.ask(f"/slots/{digits}?action=erase", {})
        assert (refused.status, refused.error["message"]) == (400, "Invalid slot ID")
        assert saving.ask("/slots/" + "0" * 5000 + "?action=erase", {}).json["id_slot"] == 0


def test_a_body_of_100_mb_is_read_and_a_larger_one_is_not(face: Face) -> None:
    limit = 100 * 1024 * 1024
    start, end = b'{"content":"a","x":"', b'"}'
    full = start + b"x" * (limit - len(start) - len(end)) + end
    assert face.ask("/tokenize", full, "POST").json == {"tokens": [97]}
    refused = face.ask("/tokenize", full + b" ", "POST")
    assert (refused.status, refused.text) == (413, "")
    assert face.ask("/health").status == 200


def test_a_body_in_chunks_is_limited_too(face: Face) -> None:
    piece = b"x" * (1024 * 1024)
    link = face.send(b"POST /tokenize HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
    with link:
        try:
            for _ in range(120):
                link.sendall(b"100000\r\n" + piece + b"\r\n")
            head = link.recv(100)
        except OSError:
            head = b"HTTP/1.1 413"
    assert head.startswith(b"HTTP/1.1 413")


def test_unknown_routes_and_methods(face: Face) -> None:
    wanted = '{"error":{"message":"File Not Found","type":"not_found_error","code":404}}'
    for path, method in (
        ("/nothing", "GET"),
        ("/completion", "GET"),
        ("/health", "PUT"),
        ("/slots/", "GET"),
        ("/HEALTH", "GET"),
    ):
        answer = face.ask(path, method=method)
        assert (answer.status, answer.text) == (404, wanted), path


@pytest.mark.parametrize(
    ("path", "body", "flag"),
    [("/metrics", None, "--metrics"), ("/slots/0?action=erase", {}, "--slot-save-path"), ("/props", {}, "--props")],
)
def test_what_is_switched_off_names_its_flag(face: Face, path: str, body: object, flag: str) -> None:
    answer = face.ask(path, body)
    assert (answer.status, answer.error["type"]) == (501, "not_supported_error")
    assert f"Start it with `{flag}`" in str(answer.error["message"])


def test_a_full_pool_ends_every_output_and_the_next_request_runs() -> None:
    with Face("-c 512 -np 4 -kvu -cram 0") as face:
        body = {"prompt": ["a" * 61, "b" * 61, "c" * 61, "d" * 61], "n_predict": 300, "ignore_eos": True}
        answer = face.ask("/completion", body)
        assert (answer.status, answer.error["message"]) == (500, "Context size has been exceeded.")
        assert face.ask("/completion", {"prompt": "a", "n_predict": 3}).status == 200
        assert face.is_quiet


def test_slots_are_saved_only_under_a_plain_name(tmp_path: Path) -> None:
    names = ["", " a", "a ", "a.", "..", "../a", "a/b", "a\\b", "a:b", "a?b", "\x07", "a\x7f", "a\uff0fb", "x" * 256]
    refused: list[tuple[str, object, str]] = [
        ("burn", {"filename": "a"}, "Invalid action"),
        ("save", [], "[json.exception.type_error.304] cannot use at() with array"),
        ("save", {}, "[json.exception.out_of_range.403] key 'filename' not found"),
        ("restore", {"filename": 5}, "[json.exception.type_error.302] type must be string, but is number"),
        *(("save", {"filename": name}, "Invalid filename") for name in names),
    ]
    with Face(f"-np 1 --slot-save-path {tmp_path}") as face:
        for action, body, message in refused:
            answer = face.ask(f"/slots/0?action={action}", body)
            assert (answer.status, answer.error["message"]) == (400, message), body
        assert not list(tmp_path.iterdir())
        assert face.ask("/slots/0?action=save", {"filename": "é" * 127}).status == 200


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes by name")
@pytest.mark.parametrize(("action", "status"), [("save", 500), ("restore", 400)])
def test_a_pipe_is_no_place_for_a_slot_and_holds_up_nobody(tmp_path: Path, action: str, status: int) -> None:
    os.mkfifo(tmp_path / "pipe")
    with Face(f"-np 1 --slot-save-path {tmp_path}") as face:
        answer = face.ask(f"/slots/0?action={action}", {"filename": "pipe"})
        assert answer.status == status
        assert str(answer.error["message"]).startswith(f"Unable to {action} slot")
        assert face.ask("/completion", {"prompt": "a", "n_predict": 2}).status == 200
