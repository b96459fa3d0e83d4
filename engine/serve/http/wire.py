"""HTTP/1 by the rules of cpp-httplib, llama-server's HTTP library: bytes in, events out, no socket.

`Wire` stands in for an `h11.Connection`, so that uvicorn can drive it. h11 itself has other rules: it wants a Host,
takes no empty line before a request, and takes lines that end in a bare line feed.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeVar

import h11

from .heads import Head, RefusedError, add_header, chunk_size, has_token, read_request_line

__all__ = ["Wire"]

LONGEST_LINE = 32768
PHRASES = {status.value: status.phrase for status in HTTPStatus} | {
    413: "Payload Too Large",  # Python calls these otherwise
    416: "Range Not Satisfiable",
}
MORE: Any = h11.NEED_DATA
WAIT: Any = h11.PAUSED
BODY_METHODS = (b"POST", b"PUT", b"PATCH", b"DELETE")
T = TypeVar("T")
Reading = Generator[Any, None, T]
"""A piece of reading: yields events and `MORE`, and returns what it has read."""


@dataclass(frozen=True, init=False)
class CheckedRequest(h11.Request):
    """A request that `heads` has checked. h11's own checks, made in its constructor, would refuse some that pass."""

    def __init__(self, head: Head) -> None:
        target = bytes(head.target) if head.target.isascii() else _escaped(head.target)
        members = {"method": head.method, "target": target, "http_version": head.version, "headers": head.headers}
        for name, value in members.items():
            object.__setattr__(self, name, value)


def _escaped(target: bytes) -> bytes:
    """The target with ``%`` escapes for the bytes that are not ASCII, which uvicorn cannot read."""
    return b"".join(b"%%%02X" % byte if byte > 126 else bytes((byte,)) for byte in target)


class Wire:
    """One connection, seen from the server.

    ``our_state`` and ``their_state`` are h11's: how far the answer and the request are. ``refusal`` is the status to
    answer with after `next_event` has raised, 0 = close without an answer. ``is_head_request``: whether it is for HEAD.
    """

    def __init__(self) -> None:
        self.our_state: Any = h11.IDLE
        self.their_state: Any = h11.IDLE
        self.refusal = 400
        self._buffer = bytearray()
        self._ended = False
        self._head: Head | None = None
        self._chunked = False
        self._closes = False
        self._in_head = False
        self.is_head_request = False
        self._source = self._read()

    @property
    def they_are_waiting_for_100_continue(self) -> bool:
        """Whether the client sends the body only after a ``100 Continue``."""
        return self.their_state is h11.SEND_BODY and self._head is not None and self._head.expects

    @property
    def is_in_body(self) -> bool:
        """Whether the head of a request has come and its body not all."""
        return self.their_state is h11.SEND_BODY

    @property
    def has_first_line(self) -> bool:
        """Whether more of a request has come than a part of its first line."""
        return self._in_head or self.is_in_body

    @property
    def is_reading(self) -> bool:
        """Whether a request has begun to come and is not complete."""
        return self.is_in_body or (self.their_state is h11.IDLE and (self._in_head or bool(self._buffer)))

    @property
    def n_ahead(self) -> int:
        """Bytes that have come and are not looked at yet."""
        return len(self._buffer)

    @property
    def _is_over(self) -> bool:
        return self._ended and not self._buffer

    def receive_data(self, data: bytes) -> None:
        """Take bytes from the client; b"" = it has closed its side."""
        self._buffer += data
        self._ended = self._ended or not data

    def next_event(self) -> Any:
        """The next event, or h11's ``NEED_DATA`` or ``PAUSED``. Raises `h11.RemoteProtocolError`."""
        try:
            return next(self._source, WAIT)
        except RefusedError as error:
            self.refusal = error.status
            raise h11.RemoteProtocolError(str(error)) from None

    def start_next_cycle(self) -> None:
        """Go on with the next request of the connection."""
        self.our_state = self.their_state = h11.IDLE

    def close_after_answer(self) -> None:
        """Take no other request."""
        self._closes = True

    # reading

    def _read(self) -> Reading[None]:
        """Yields the events of one request after the other, `MORE` where bytes lack, `WAIT` while one is answered."""
        while True:
            self.is_head_request = False
            line = yield from self._line()
            if not line:  # one empty line may stand before a request
                line = yield from self._line()
            self.is_head_request = line.lstrip(b" ").startswith(b"HEAD ")
            head = read_request_line(line)
            self._in_head = True
            while line := (yield from self._line()):
                add_header(head, line)
            head.check()
            self._head, self.their_state, self._in_head = head, h11.SEND_BODY, False
            self._closes = not head.persistent
            yield CheckedRequest(head)
            yield from self._body(head)
            self.their_state = h11.DONE
            yield h11.EndOfMessage()
            while self.their_state is h11.DONE:
                yield WAIT

    def _line(self) -> Reading[bytes]:
        """Reads up to the next CRLF and returns what stands before it.

        A first line that never ends gets no answer: the client may not speak HTTP at all.
        """
        while (end := self._buffer.find(b"\r\n", 0, LONGEST_LINE)) < 0:
            if len(self._buffer) >= LONGEST_LINE or (self._ended and self.is_reading):
                begins = not self.has_first_line and not self._ended
                raise RefusedError("a line that does not end", 0 if begins else 400)
            yield MORE
        return self._take(end + 2)[:-2]

    def _take(self, count: int) -> bytes:
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken

    def _body(self, head: Head) -> Reading[None]:
        """Yields the body: in chunks, of the told length, or up to the end of a connection that closes anyway."""
        if head.chunked:
            while size := chunk_size((yield from self._line())):
                yield from self._bytes(size)
                if (yield from self._line()):
                    raise RefusedError("a chunk that is longer than it says")
            trailer = Head(head.method, head.target, head.version)
            while line := (yield from self._line()):
                add_header(trailer, line)
        elif head.length is not None:
            yield from self._bytes(head.length)
        elif self._buffer and not head.persistent and head.method in BODY_METHODS:
            while self._buffer or not self._ended:
                yield h11.Data(self._take(len(self._buffer))) if self._buffer else MORE

    def _bytes(self, count: int) -> Reading[None]:
        """Yields ``count`` bytes of a body as they come."""
        while count:
            if self._buffer:
                data = self._take(count)
                count -= len(data)
                yield h11.Data(data)
            elif self._ended:
                raise RefusedError("a body that ends early")
            else:
                yield MORE

    # writing

    def send(self, event: h11.Event) -> bytes:
        """The bytes that tell the client of an event."""
        match event:
            case h11.InformationalResponse():
                return b"HTTP/1.1 100 Continue\r\n\r\n"
            case h11.Response():
                return self._response_head(event.status_code, list(event.headers))
            case h11.Data():
                data = bytes(event.data)
                return b"%x\r\n%s\r\n" % (len(data), data) if self._chunked and data else data
            case h11.EndOfMessage():
                self.our_state = h11.MUST_CLOSE if self._closes or self._is_over else h11.DONE
                return b"0\r\n\r\n" if self._chunked else b""
        self.our_state = h11.CLOSED
        return b""

    def _response_head(self, status: int, headers: Sequence[tuple[bytes, bytes]]) -> bytes:
        """Status line and headers. An answer without a length goes out in chunks, also to a client of HTTP/1.0."""
        names = {name for name, _ in headers}
        self._chunked = b"content-length" not in names and not self.is_head_request
        self._closes = self._closes or has_token(headers, b"connection", b"close")
        self.our_state = h11.SEND_BODY
        told = [*headers, (b"transfer-encoding", b"chunked")] if self._chunked else headers
        lines = [b"%s: %s" % (name.title(), value) for name, value in told]
        return b"\r\n".join([b"HTTP/1.1 %d %s" % (status, PHRASES[status].encode()), *lines, b"", b""])
