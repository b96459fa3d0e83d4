"""What uvicorn runs for each connection: its own protocol with `Wire` in the place of h11's parser.

What cannot be read is answered as llama-server does: by a status without a body.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from .wire import Wire

__all__ = ["Http"]

SERVER = (b"Server", b"llama.cpp")
EMPTY_AND_LAST = [(b"Connection", b"close"), (b"Content-Length", b"0")]
FOR_BAD_HEAD = [SERVER, *EMPTY_AND_LAST]
FOR_BAD_BODY = [SERVER, (b"Access-Control-Allow-Origin", b""), *EMPTY_AND_LAST]


class Http(H11Protocol):
    """Reads by other rules, refuses in other words, and closes connections on which no first request comes."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.conn: Any = Wire()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait no longer for the first request than for the ones after it; uvicorn would wait for ever."""
        super().connection_made(transport)
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def send_400_response(self, msg: str) -> None:
        """Close, after an answer with `Wire.refusal` as its status where that is no 0. The client is not told why."""
        if self.conn.our_state is h11.IDLE and self.conn.refusal:
            headers = FOR_BAD_BODY if self.conn.is_in_body else FOR_BAD_HEAD
            refusal = h11.Response(status_code=self.conn.refusal, headers=headers)
            self.transport.write(self.conn.send(refusal) + self.conn.send(h11.EndOfMessage()))
        self.transport.close()

    def eof_received(self) -> bool:  # type: ignore[override]
        """The client has no more to say. Returns whether the connection stays open for an answer (asyncio's rule).

        A request that is not complete is refused. A complete one is answered, unless its handler, which is woken, takes
        the client for gone. An answer that has begun, a stream, ends.
        """
        self.conn.receive_data(b"")
        if self.conn.is_reading:
            self.handle_events()
        if self.cycle is None or self.cycle.response_started:
            return False
        self.cycle.message_event.set()
        return True
