"""What surrounds the handlers: loading, keys, origins, connections (spec §7.1)."""

from __future__ import annotations

import http.client
from pathlib import Path

import pytest

from slotview.engine.flags import parse_flags
from slotview.engine.serve.routes.cors import allowed_origin, is_skipped, preflight
from slotview.engine.serve.state import read_keys

from .face import Face

LOADING = '{"error":{"message":"Loading model","type":"unavailable_error","code":503}}'
NO_KEY = '{"error":{"message":"Invalid API Key","type":"authentication_error","code":401}}'
GUARDED = ("/slots", "/props", "/models", "/v1/models", "/metrics", "/nothing")


def test_everything_is_503_while_loading_even_without_a_key() -> None:
    with Face("-np 1 --api-key k", loaded=False) as face:
        for path in ("/health", "/v1/health", *GUARDED):
            answer = face.ask(path)
            assert (answer.status, answer.text) == (503, LOADING), path
        assert face.ask("/completion", {"prompt": "a"}).status == 503
        assert face.ask("/").status == 404
        assert face.ask("/health", method="OPTIONS").status == 200
        face.load()
        assert face.ask("/health").text == '{"status":"ok"}'
        assert face.ask("/slots").status == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer one"}, 200),
        ({"Authorization": "two"}, 200),
        ({"X-Api-Key": "one"}, 200),
        ({"X-Api-Key": "Bearer one"}, 200),
        ({"Authorization": "bearer one"}, 401),
        ({"Authorization": "Bearer  one"}, 401),
        ({"Authorization": "Bearer three", "X-Api-Key": "one"}, 401),
        ({"Authorization": "", "X-Api-Key": "one"}, 200),
    ],
)
def test_where_a_key_may_stand(headers: dict[str, str], status: int) -> None:
    with Face("-np 1 --api-key one,two") as face:
        assert face.ask("/slots", headers=headers).status == status


def test_keys_stand_in_a_file_too(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("one\n# no key\n\ntwo\n")
    flags = parse_flags(["--api-key", "zero", "--api-key-file", str(tmp_path / "keys")])
    assert read_keys(flags) == ("zero", "one", "two")


def test_only_health_is_open_and_401_comes_before_404_and_501() -> None:
    with Face("-np 1 --api-key one --no-slots") as face:
        assert face.ask("/health").status == face.ask("/v1/health").status == 200
        for path in GUARDED:
            answer = face.ask(path)
            assert (answer.status, answer.text) == (401, NO_KEY), path
        with_key = {"Authorization": "Bearer one"}
        assert face.ask("/slots", headers=with_key).status == 501
        assert face.ask("/nothing", headers=with_key).status == 404


def test_a_key_never_appears_in_an_answer() -> None:
    with Face("-np 1 --api-key secret-key-17") as face:
        for path in ("/props", "/slots", "/v1/models", "/health"):
            assert "secret-key-17" not in face.ask(path, headers={"Authorization": "secret-key-17"}).text


def test_a_prefix_stands_before_every_route() -> None:
    with Face("-np 1 --api-prefix /llm") as face:
        assert (face.ask("/llm/health").status, face.ask("/health").status, face.ask("/llm/slots").status) == (
            200,
            404,
            200,
        )


def test_the_origin_is_allowed_and_preflight_needs_no_key() -> None:
    with Face("-np 1 --api-key k") as face:
        origin = {"Origin": "http://a.example"}
        assert face.ask("/health", headers=origin).headers["Access-Control-Allow-Origin"] == "http://a.example"
        assert face.ask("/health").headers["Access-Control-Allow-Origin"] == ""
        answer = face.ask("/slots", method="OPTIONS", headers=origin)
        assert (answer.status, answer.text, answer.headers["Content-Type"]) == (200, "", "text/html")
        assert answer.headers["Access-Control-Allow-Methods"] == "GET, POST, DELETE, OPTIONS"


@pytest.mark.parametrize(
    ("words", "origin", "allowed"),
    [
        ("", "", ""),
        ("--no-cors-credentials", "http://a.example", "*"),
        ("--cors-origins http://b.example", "http://a.example", "http://b.example"),
        ("--cors-origins localhost", "http://localhost:3000", "http://localhost:3000"),
        ("--cors-origins localhost", "http://[::1]:80", "http://[::1]:80"),
        ("--cors-origins localhost", "http://a.example", None),
        ("--cors-origins localhost", "http://[", None),
    ],
)
def test_whose_pages_may_ask(words: str, origin: str, allowed: str | None) -> None:
    flags = parse_flags(words.split()).http
    assert allowed_origin(flags, origin) == allowed
    assert is_skipped(flags, origin) is (allowed is None)
    assert preflight(flags)["Access-Control-Allow-Credentials"] == str("--no-cors-credentials" not in words).lower()


def test_a_connection_stays_open_until_its_hundredth_answer() -> None:
    with Face("-np 1") as face:
        connection = http.client.HTTPConnection("127.0.0.1", face.port, timeout=10)
        kept = []
        for _ in range(100):
            connection.request("GET", "/health")
            answer = connection.getresponse()
            answer.read()
            kept.append((answer.headers["Keep-Alive"], answer.headers["Connection"]))
        connection.close()
        assert kept == [("timeout=5, max=100", None)] * 99 + [(None, "close")]


def test_ranges_are_looked_at_and_the_whole_answer_is_sent() -> None:
    whole = ("0-3", "14-", "0-99", "-15", "-1", "0-1,1-2,2-3", "0-1,2-3,4-5,6-7")
    lacking = ("15-", "-16", "-0", "0-1,1-2,2-3,3-4")
    with Face("-np 1") as face:
        for ranges in (*whole, *lacking):
            answer = face.ask("/health", headers={"Range": f"bytes={ranges}"})
            expected = (200, '{"status":"ok"}') if ranges in whole else (416, "")
            assert (answer.status, answer.text) == expected, ranges


def test_fail_on_no_slot_fails_for_any_value_but_an_empty_one() -> None:
    endless = {"prompt": "a", "n_predict": 8000, "ignore_eos": True, "stream": True}
    with Face("-c 16384 -np 2") as face, face.post("/completion", endless) as first:
        assert first.recv(20).startswith(b"HTTP/1.1 200")
        assert face.ask("/slots?fail_on_no_slot=1").status == 200
        with face.post("/completion", endless) as second:
            assert second.recv(20).startswith(b"HTTP/1.1 200")
            statuses = [face.ask(f"/slots{query}").status for query in ("?fail_on_no_slot=0", "?fail_on_no_slot=", "")]
            assert statuses == [503, 200, 200]


def test_a_client_that_is_still_sending_gets_the_answer_and_no_reset() -> None:
    with Face() as face, face.send(b"POST /nothing HTTP/1.1\r\nContent-Length: 300000\r\n\r\n") as link:
        assert link.recv(12) == b"HTTP/1.1 404"
        for _ in range(3):
            link.sendall(b"x" * 100_000)
        rest = b"".join(iter(lambda: link.recv(65536), b""))
    assert rest.endswith(b'"code":404}}')


@pytest.mark.parametrize(
    ("method", "body", "status"), [("GET", b"", 200), ("GET", b"x", 415), ("HEAD", b"", 200), ("POST", b"", 415)]
)
def test_a_compressed_body_is_refused_where_there_is_one(method: str, body: bytes, status: int) -> None:
    headers = {"Content-Encoding": "gzip", "Content-Length": str(len(body))}
    with Face() as face:
        assert face.ask("/tokenize" if method == "POST" else "/health", body, method, headers).status == status


def test_a_compressed_body_is_refused_before_it_has_come() -> None:
    head = b"POST /tokenize HTTP/1.1\r\nContent-Encoding: gzip\r\nContent-Length: 9\r\n\r\n"
    with Face() as face, face.send(head) as link:
        assert link.recv(100).startswith(b"HTTP/1.1 415")


def test_a_preflight_that_waits_for_leave_to_send_a_body_is_the_last_request() -> None:
    with Face() as face:
        ask = b"OPTIONS / HTTP/1.1\r\nContent-Length: 1\r\n%s\r\n"
        for line, end in ((b"", b"Keep-Alive"), (b"Expect: 100-continue\r\n", b"Connection: close")):
            with face.send(ask % line) as link:
                answer = link.recv(4096)
            assert answer.startswith(b"HTTP/1.1 200")
            assert end in answer
