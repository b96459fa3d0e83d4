"""HTTP on the wire: what is read, what is refused, what is written."""

from __future__ import annotations

import time

import h11
import pytest

from slotview.engine.serve.http.wire import Wire

GET = b"GET /health HTTP/1.1\r\n\r\n"
CHUNKED = b"POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"


def events(*pieces: bytes) -> list[object]:
    """The events of a first request that comes in pieces, up to its end."""
    wire = Wire()
    found: list[object] = []
    for piece in pieces:
        wire.receive_data(piece)
        while (event := wire.next_event()) not in (h11.NEED_DATA, h11.PAUSED):
            found.append(event)
    return found


def body(*pieces: bytes) -> bytes | None:
    """The body of a request; None = it is not all there."""
    found = events(*pieces)
    if not isinstance(found[-1], h11.EndOfMessage):
        return None
    return b"".join(bytes(event.data) for event in found if isinstance(event, h11.Data))


def test_tabs_around_the_words_of_the_first_line_are_nothing() -> None:
    wire = Wire()
    wire.receive_data(b"\tGET \t/health\t HTTP/1.1\t\r\n\r\n")
    request = wire.next_event()
    assert (request.method, request.target, request.http_version) == (b"GET", b"/health", b"1.1")


def test_a_request_needs_no_host_and_may_come_byte_by_byte() -> None:
    request, end = events(*(bytes((byte,)) for byte in b"\r\n" + GET))
    assert isinstance(request, h11.Request)
    assert isinstance(end, h11.EndOfMessage)
    assert (request.method, request.target, request.http_version) == (b"GET", b"/health", b"1.1")


@pytest.mark.parametrize(
    ("request_bytes", "expected"),
    [
        (GET, b""),
        (b"POST /x HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcGET", b"abc"),
        (b"POST /x HTTP/1.1\r\nContent-Length: 3\r\n\r\nab", None),
        (b"POST /x HTTP/1.1\r\n\r\nabc", b""),
        (CHUNKED + b"3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nX: y\r\n\r\n", b"abc0123456789"),
        (CHUNKED + b"3\r\nabc\r\n", None),
        (b"POST /x HTTP/1.1\r\nTransfer-Encoding: x, Chunked ,,\r\n\r\n3\r\nabc\r\n0\r\n\r\n", b"abc"),
        (CHUNKED + b"0" * 30 + b"3\r\nabc\r\n0\r\n" + b"X: y\r\n" * 100 + b"\r\n", b"abc"),
        (b"POST /x HTTP/1.1\r\nContent-Length: " + b"0" * 5000 + b"3\r\n\r\nabc", b"abc"),
        (b"GET /x HTTP/1.1\r\nRange: bytes=1-" + b"9" * 5000 + b"\r\n\r\n", b""),
    ],
)
def test_how_long_a_body_is(request_bytes: bytes, expected: bytes | None) -> None:
    assert body(request_bytes) == expected
    assert body(request_bytes[:40], request_bytes[40:]) == expected


def test_a_body_without_length_lasts_until_the_end_where_the_connection_closes_anyway() -> None:
    assert body(b"POST /x HTTP/1.0\r\n\r\nabc") is None
    assert body(b"POST /x HTTP/1.0\r\n\r\nabc", b"de", b"") == b"abcde"


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET /health\r\n", b"GET /health HTTP/2.0\r\n", b"get /health HTTP/1.1\r\n", b"GET /a\x01 HTTP/1.1\r\n",
        b"GET / HTTP/1.1\r\nA : b\r\n", b"GET / HTTP/1.1\r\nA: b\nC: d\r\n", b"GET / HTTP/1.1\r\n folded\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: +1\r\n\r\n", b"GET / HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"GET / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",
        CHUNKED + b"0x1\r\n", CHUNKED + b"1\r\nab\r\n", CHUNKED + b"0\r\nA : b\r\n\r\n",
        CHUNKED + b"0\r\n" + b"A: b\r\n" * 101 + b"\r\n",
        b"GET / HTTP/1.1\r\nAccept: json\r\n\r\n", b"GET / HTTP/1.1\r\nRange: bytes=3-1\r\n\r\n",
        b"GET / HTTP/1.1\r\nRange: bytes=-9223372036854775808\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 101,
        b"GET / HTTP/1.1\r\nA: " + b"b" * 8190 + b"\r\n", b"a" * 32768,
    ],
)  # fmt: skip
def test_what_is_no_request_is_refused_as_soon_as_that_is_clear(request_bytes: bytes) -> None:
    with pytest.raises(h11.RemoteProtocolError):
        events(request_bytes)


def test_a_head_full_of_blanks_is_read_at_once() -> None:
    began = time.thread_time()
    blanks = b"A:" + b" \t" * 2000 + b"b" + b" " * 2000 + b"c \r\n"
    request = events(b"GET / HTTP/1.1\r\n" + blanks * 100 + b"\r\n")[0]
    with pytest.raises(h11.RemoteProtocolError):
        events(b"GET / HTTP/1.1\r\nA:" + b" " * 8000 + b"\0\r\n\r\n")
    assert time.thread_time() - began < 2
    assert isinstance(request, h11.Request)
    assert request.headers[99] == (b"a", b"b" + b" " * 2000 + b"c")


def test_the_next_request_waits_for_the_answer_to_this_one() -> None:
    wire = Wire()
    wire.receive_data(GET + GET)
    assert [type(wire.next_event()) for _ in range(2)] == [type(event) for event in events(GET)]
    assert wire.next_event() is h11.PAUSED
    wire.start_next_cycle()
    assert isinstance(wire.next_event(), h11.Request)


@pytest.mark.parametrize(
    ("request_bytes", "closes"),
    [
        (GET, False),
        (b"GET / HTTP/1.0\r\n\r\n", True),
        (b"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", False),
        (b"GET / HTTP/1.1\r\nConnection: TE, close\r\n\r\n", True),
    ],
)
def test_when_a_connection_closes(request_bytes: bytes, closes: bool) -> None:
    wire = Wire()
    wire.receive_data(request_bytes)
    while wire.next_event() is not h11.PAUSED:
        pass
    head = wire.send(h11.Response(status_code=200, headers=[(b"content-length", b"2")]))
    assert head == b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
    assert wire.send(h11.Data(b"ok")) + wire.send(h11.EndOfMessage()) == b"ok"
    assert (wire.our_state is h11.MUST_CLOSE) == closes


def test_an_answer_of_unknown_length_goes_out_in_chunks() -> None:
    wire = Wire()
    assert wire.send(h11.Response(status_code=200, headers=[])).endswith(b"Transfer-Encoding: chunked\r\n\r\n")
    assert wire.send(h11.Data(b"0123456789a")) == b"b\r\n0123456789a\r\n"
    assert wire.send(h11.Data(b"")) == b""
    assert wire.send(h11.EndOfMessage()) == b"0\r\n\r\n"


def test_what_follows_a_head_request_is_none() -> None:
    wire = Wire()
    wire.receive_data(GET.replace(b"GET", b"HEAD"))
    while wire.next_event() is not h11.PAUSED:
        assert wire.is_head_request
    wire.start_next_cycle()
    wire.receive_data(b"no request")
    wire.receive_data(b"")
    with pytest.raises(h11.RemoteProtocolError):
        wire.next_event()
    assert not wire.is_head_request
