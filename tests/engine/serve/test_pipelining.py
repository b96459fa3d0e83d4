"""Requests that follow each other on a connection without waiting for the answers."""

from __future__ import annotations

import json

import pytest

from .face import HALVES, Face, until

LONG = {"prompt": "hello", "n_predict": 8000, "ignore_eos": True}
HEALTH = b"GET /health HTTP/1.1\r\n\r\n"


@pytest.mark.parametrize("sent", [b"\r\n", HEALTH])
def test_a_client_that_goes_away_after_sending_more_frees_its_slot(sent: bytes) -> None:
    with Face("-c 8192 -np 1") as face:
        link = face.post("/completion", LONG)
        until(lambda: face.generated > 0)
        link.sendall(sent)
        done = face.generated
        until(lambda: face.generated > done + 5)
        link.close()
        until(lambda: face.is_quiet)
        assert face.host
        assert face.host.core.metrics.n_decode < 5000


@pytest.mark.parametrize(("half", "answer"), HALVES)
def test_half_a_request_behind_a_whole_one_is_given_up_after_the_timeout(half: bytes, answer: bytes) -> None:
    with Face("-np 1", timeout=0.2) as face, face.send(HEALTH + half) as link:
        text = b""
        while piece := link.recv(65536):
            text += piece
        whole, _, rest = text.partition(b'{"status":"ok"}')
        assert whole.startswith(b"HTTP/1.1 200")
        assert rest[:12] == answer


def test_requests_that_come_at_once_are_answered_in_their_order_and_then_the_connection_ends() -> None:
    with Face("-np 1") as face:
        data = b"".join(
            b"POST /detokenize HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
            for body in (json.dumps({"tokens": [65 + number]}).encode() for number in range(20))
        )
        with face.send(data) as link:
            link.shutdown(1)
            text = b""
            while piece := link.recv(65536):
                text += piece
        assert [part[:1] for part in text.split(b'{"content":"')[1:]] == [b"%c" % (65 + n) for n in range(20)]
