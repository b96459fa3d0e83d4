"""uvicorn's protocol on our wire, which answers what cannot be read as llama-server does: by a status and no body."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from .wire import Wire

__all__ = ["Http"]

UNREADABLE = [(b"Server", b"llama.cpp"), (b"Connection", b"close"), (b"Content-Length", b"0")]
CUT_OFF = [(b"Server", b"llama.cpp"), (b"Access-Control-Allow-Origin", b""), *UNREADABLE[1:]]


class Http(H11Protocol):
    """Other rules for requests, other refusals, and no patience with a client that says nothing."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.conn: Any = Wire()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request as long as for the next ones."""
        super().connection_made(transport)
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def send_400_response(self, msg: str) -> None:
        """Refuse; why is not told."""
        if self.conn.our_state is h11.IDLE and self.conn.refusal:
            headers = CUT_OFF if self.conn.is_in_body else UNREADABLE
            refusal = h11.Response(status_code=self.conn.refusal, headers=headers)
            self.transport.write(self.conn.send(refusal) + self.conn.send(h11.EndOfMessage()))
        self.transport.close()

    def eof_received(self) -> bool:  # type: ignore[override]
        """A client that says it has no more still hears an answer, and in the middle of a request what is wrong.

        The handler is woken: it may take the client for gone. An answer that has begun, a stream, ends.
        """
        self.conn.receive_data(b"")
        if self.conn.is_reading:
            self.handle_events()
        if self.cycle is None or self.cycle.response_started:
            return False
        self.cycle.message_event.set()
        return True
