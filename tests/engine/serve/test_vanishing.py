"""Clients that go away, read slowly, or send a head and stop: no task and no slot is left behind."""

from __future__ import annotations

import socket
import struct
import time

import pytest

from slotview.engine.serve.http import presence

from .face import HALVES, Face, until

LONG = {"prompt": "hello", "n_predict": 8000, "ignore_eos": True}


def _reset(link: socket.socket) -> None:
    """Close so that the other side gets a reset."""
    link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    link.close()


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("stream", [False, True])
def test_a_running_request_whose_client_goes_away_frees_its_slot(stream: bool, reset: bool) -> None:
    with Face("-c 8192 -np 1") as face:
        link = face.post("/completion", LONG | {"stream": stream})
        until(lambda: face.busy == 1)
        _reset(link) if reset else link.close()
        until(lambda: face.is_quiet)
        assert face.ask("/completion", {"prompt": "a", "n_predict": 2}).status == 200


@pytest.mark.parametrize("waits", [False, True])
def test_a_client_that_goes_away_later_is_given_no_time_to_read(waits: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "PATIENCE", 1000.0)
    with Face("-c 8192 -np 1 --metrics") as face:
        before = [face.post("/completion", LONG)] if waits else []
        until(lambda: face.busy == len(before))
        link = face.post("/completion", LONG)
        until(lambda: f"requests_deferred {len(before)}" in face.ask("/metrics").text and face.busy == 1)
        time.sleep(2 * presence.TOGETHER)
        link.close()
        until(lambda: "requests_deferred 0" in face.ask("/metrics").text and face.busy == len(before))
        for other in before:
            other.close()
        until(lambda: face.is_quiet)


@pytest.mark.parametrize("stream", [False, True])
def test_a_waiting_request_whose_client_goes_away_leaves_the_queue(stream: bool) -> None:
    with Face("-c 8192 -np 1 --metrics") as face:
        first = face.post("/completion", LONG)
        until(lambda: face.busy == 1)
        second = face.post("/completion", LONG | {"stream": stream})
        until(lambda: "requests_deferred 1" in face.ask("/metrics").text)
        second.close()
        until(lambda: "requests_deferred 0" in face.ask("/metrics").text)
        assert face.busy == 1
        first.close()
        until(lambda: face.is_quiet)


def _half_closed(face: Face, body: object) -> tuple[bytes, bytes]:
    """Head and body of what a client gets that has no more to say."""
    with face.post("/completion", body) as link:
        link.shutdown(socket.SHUT_WR)
        head, _, rest = b"".join(iter(lambda: link.recv(65536), b"")).partition(b"\r\n\r\n")
        return head, rest


def test_a_client_that_has_said_all_gets_an_answer() -> None:
    with Face("-c 512 -np 1") as face, pytest.MonkeyPatch.context() as patch:
        patch.setattr(presence, "TOGETHER", 20.0)
        patch.setattr(presence, "PATIENCE", 20.0)
        head, rest = _half_closed(face, {"prompt": "hello", "n_predict": 2, "ignore_eos": True})
        assert head.startswith(b"HTTP/1.1 200")
        assert b'"tokens_predicted":2' in rest


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_has_said_all_gets_no_stream_and_no_answer_that_takes_long(stream: bool) -> None:
    with Face("-c 512 -np 1 --context-shift") as face:
        head, rest = _half_closed(face, {"prompt": "hello", "n_predict": -1, "ignore_eos": True, "stream": stream})
        assert head.startswith(b"HTTP/1.1 200")
        assert rest == b""
        until(lambda: face.is_quiet)


def test_a_family_goes_as_one() -> None:
    with Face("-c 32768 -np 4") as face:
        link = face.post("/completion", LONG | {"n_cmpl": 4})
        until(lambda: face.busy == 4)
        link.close()
        until(lambda: face.is_quiet)


def test_an_action_that_waits_for_a_busy_slot_is_given_up(tmp_path: object) -> None:
    with Face(f"-c 8192 -np 1 --metrics --slot-save-path {tmp_path}") as face:
        first = face.post("/completion", LONG)
        until(lambda: face.busy == 1)
        action = face.post("/slots/0?action=erase", {})
        until(lambda: "requests_deferred 1" in face.ask("/metrics").text)
        action.close()
        first.close()
        until(lambda: face.is_quiet)


def test_a_head_or_half_a_body_and_then_nothing_holds_up_nobody() -> None:
    with Face("-np 1") as face:
        links = [
            face.send(b"POST /comp"),
            face.send(b"POST /completion HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"),
            face.send(b'POST /completion HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"prompt":"a"'),
            face.send(b""),
        ]
        assert face.ask("/completion", {"prompt": "a", "n_predict": 2}).status == 200
        assert face.busy == 0
        for link in links:
            link.close()
        assert face.ask("/health").status == 200
        assert face.is_quiet


@pytest.mark.parametrize(("sent", "answer"), HALVES)
def test_a_request_that_does_not_go_on_is_given_up_after_the_timeout(sent: bytes, answer: bytes) -> None:
    with Face("-np 1", timeout=0.2) as face, face.send(sent) as link:
        assert link.recv(12) == answer
        while link.recv(65536):
            pass


def test_a_timeout_below_0_waits_for_ever() -> None:
    with Face("-np 1 --timeout -1") as face, face.send(b"GET /hea") as link:
        time.sleep(0.2)
        link.sendall(b"lth HTTP/1.1\r\n\r\n")
        assert link.recv(12) == b"HTTP/1.1 200"


def test_a_reader_that_takes_nothing_is_given_up_after_the_timeout() -> None:
    with Face("-c 16384 -np 1", timeout=0.2) as face:
        link = socket.socket()
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        link.connect(("127.0.0.1", face.port))
        body = b'{"content":"%s"}' % (b"a" * 2_500_000)
        link.sendall(b"POST /tokenize HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        assert link.recv(1)  # the answer is on its way
        until(lambda: face.has_no_connection)
        link.close()


def test_a_slow_reader_gets_the_whole_stream_and_holds_up_nobody() -> None:
    with Face("-c 16384 -np 2") as face:
        link = socket.socket()
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        link.settimeout(60)
        link.connect(("127.0.0.1", face.port))
        body = b'{"prompt":"hello","n_predict":3000,"ignore_eos":true,"stream":true}'
        link.sendall(b"POST /completion HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        assert link.recv(10)
        while face.busy:  # the engine does not wait for the reader, however long a busy machine takes
            done = face.generated
            until(lambda: not face.busy or face.generated > done)  # noqa: B023
        assert face.ask("/completion", {"prompt": "a", "n_predict": 2}).status == 200
        text = bytearray()
        while piece := link.recv(65536):
            text += piece
        link.close()
        assert text.count(b'"stop":false') == 3000
        assert text.count(b'"stop":true') == 1


def test_stopping_the_server_ends_open_streams() -> None:
    with Face("-c 8192 -np 1") as face:
        link = face.post("/completion", LONG | {"stream": True})
        until(lambda: face.busy == 1)
    link.settimeout(10)
    with link:
        while link.recv(65536):
            pass


def test_stopping_the_server_leaves_running_and_waiting_requests_without_an_answer() -> None:
    with Face("-c 8192 -np 1 --metrics --context-shift") as face:
        first, second = (face.post("/completion", LONG | {"n_predict": 10**9}) for _ in range(2))
        until(lambda: "requests_deferred 1" in face.ask("/metrics").text)
    with first, second:
        assert (first.recv(100), second.recv(100)) == (b"", b"")
