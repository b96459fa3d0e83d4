"""HTTP/1 on the wire, read and written as llama-server does (cpp-httplib's rules): bytes in, events out, no socket.

Has the face of an `h11.Connection`, so that uvicorn can drive it. h11 itself is stricter about requests: it wants
a Host, knows no empty line before a request, and takes lines that end in a bare line feed.
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
BODY_METHODS = ("POST", "PUT", "PATCH", "DELETE")
T = TypeVar("T")
Reading = Generator[Any, None, T]


@dataclass(frozen=True, init=False)
class Asked(h11.Request):
    """A request that was checked here."""

    def __init__(self, head: Head) -> None:
        target = bytes(head.target) if head.target.isascii() else _escaped(head.target)
        members = {"method": head.method, "target": target, "http_version": head.version, "headers": head.headers}
        for name, value in members.items():
            object.__setattr__(self, name, value)


def _escaped(target: bytes) -> bytes:
    return b"".join(b"%%%02X" % byte if byte > 126 else bytes((byte,)) for byte in target)


class Wire:
    """One connection, the server's side; ``refusal`` = the status of what could not be read, 0 = none.

    ``our_state`` and ``their_state`` are h11's.
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
        self._source = self._read()

    @property
    def they_are_waiting_for_100_continue(self) -> bool:
        """Whether the body comes only after a word of ours."""
        return self.their_state is h11.SEND_BODY and self._head is not None and self._head.expects

    @property
    def is_in_body(self) -> bool:
        """Whether the head of a request is here and its body is not."""
        return self.their_state is h11.SEND_BODY

    @property
    def is_reading(self) -> bool:
        """Whether a request has begun to come and is not all here."""
        return self.is_in_body or (self.their_state is h11.IDLE and (self._in_head or bool(self._buffer)))

    @property
    def _is_over(self) -> bool:
        return self._ended and not self._buffer

    def receive_data(self, data: bytes) -> None:
        """Take bytes; none = no more will come."""
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

    # reading

    def _read(self) -> Reading[None]:
        while True:
            line = yield from self._line()
            if not line:  # one empty line may stand before a request
                line = yield from self._line()
            head = read_request_line(line)
            self._in_head = True
            while line := (yield from self._line()):
                add_header(head, line)
            head.check()
            self._head, self.their_state, self._in_head = head, h11.SEND_BODY, False
            self._closes = not head.persistent
            yield Asked(head)
            yield from self._body(head)
            self.their_state = h11.DONE
            yield h11.EndOfMessage()
            while self.their_state is h11.DONE:
                yield WAIT

    def _line(self) -> Reading[bytes]:
        """The bytes before the next CRLF."""
        while (end := self._buffer.find(b"\r\n", 0, LONGEST_LINE)) < 0:
            if len(self._buffer) >= LONGEST_LINE or (self._ended and self.is_reading):
                begins = not self._in_head and not self.is_in_body and not self._ended
                raise RefusedError("a line that does not end", 0 if begins else 400)
            yield MORE
        return self._take(end + 2)[:-2]

    def _take(self, count: int) -> bytes:
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken

    def _body(self, head: Head) -> Reading[None]:
        if head.chunked:
            while size := chunk_size((yield from self._line())):
                yield from self._bytes(size)
                if (yield from self._line()):
                    raise RefusedError("a chunk that is longer than it says")
            while line := (yield from self._line()):
                add_header(head, line)
        elif head.length is not None:
            yield from self._bytes(head.length)
        elif self._buffer and not head.persistent and head.method.decode() in BODY_METHODS:
            while self._buffer or not self._ended:
                yield h11.Data(self._take(len(self._buffer))) if self._buffer else MORE

    def _bytes(self, count: int) -> Reading[None]:
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
        """The bytes of an event."""
        match event:
            case h11.InformationalResponse():
                return b"HTTP/1.1 100 Continue\r\n\r\n"
            case h11.Response():
                return self._begun(event.status_code, list(event.headers))
            case h11.Data():
                data = bytes(event.data)
                return b"%x\r\n%s\r\n" % (len(data), data) if self._chunked and data else data
            case h11.EndOfMessage():
                self.our_state = h11.MUST_CLOSE if self._closes or self._is_over else h11.DONE
                return b"0\r\n\r\n" if self._chunked else b""
        self.our_state = h11.CLOSED
        return b""

    def _begun(self, status: int, headers: Sequence[tuple[bytes, bytes]]) -> bytes:
        """The head of an answer; one of unknown length goes out in chunks, whatever the version."""
        names = {name for name, _ in headers}
        is_head = self._head is not None and self._head.method == b"HEAD"
        self._chunked = b"content-length" not in names and not is_head
        self._closes = self._closes or has_token(headers, b"connection", b"close")
        self.our_state = h11.SEND_BODY
        told = [*headers, (b"transfer-encoding", b"chunked")] if self._chunked else headers
        lines = [b"%s: %s" % (name.title(), value) for name, value in told]
        return b"\r\n".join([b"HTTP/1.1 %d %s" % (status, PHRASES[status].encode()), *lines, b"", b""])
