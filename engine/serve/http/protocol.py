"""What uvicorn runs for each connection: its own protocol with `Wire` in the place of h11's parser.

What cannot be read is answered as llama-server does: by a status without a body.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from .closing import Closing
from .wire import Wire

__all__ = ["Http"]

FOR_BAD_HEAD = [(b"Server", b"llama.cpp"), (b"Connection", b"close"), (b"Content-Length", b"0")]
RANGES = (b"Accept-Ranges", b"bytes")
MOST_AHEAD = 64 * 1024  # bytes that are read while a request before them is answered


class Http(H11Protocol):
    """Reads by other rules, refuses in other words, and closes connections on which nothing moves.

    ``timeout``: seconds that a client has for the next bytes of a request, and to take more of an answer.
    """

    def __init__(self, *arguments: Any, timeout: float, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.conn: Any = Wire()
        self._timeout = timeout
        self._said_all = asyncio.Event()
        self._for_more: asyncio.TimerHandle | None = None
        self._for_writing: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait no longer for the first request than for the ones after it; uvicorn would wait for ever."""
        self._closing = Closing(transport)
        super().connection_made(cast(asyncio.Transport, self._closing))
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        super().connection_lost(exc)
        for timer in (self._for_more, self._for_writing):
            if timer:
                timer.cancel()

    def data_received(self, data: bytes) -> None:
        """Read on, or pass over what comes after the last answer."""
        if self._closing.is_closing():
            self._closing.hear(data)
        else:
            super().data_received(data)

    def handle_events(self) -> None:
        """Read on, and wait for the rest of a request that is not complete.

        While one is answered a little more may come, so that a client is heard that goes away after it.
        """
        super().handle_events()
        if self.cycle:
            self.cycle.scope["state"]["said_all"] = self._said_all  # before its handler runs, which may ask
        if self._for_more:
            self._for_more.cancel()
            self._for_more = None
        if self.conn.is_reading:
            self._unset_keepalive_if_required()
            self._for_more = self.loop.call_later(self._timeout, self._refuse_half)
        elif self.conn.their_state is h11.DONE and self.conn.n_ahead < MOST_AHEAD:
            self.flow.resume_reading()

    def _refuse_half(self) -> None:
        """Nothing more came of a request."""
        self.conn.refusal = 400 if self.conn.has_first_line else 0
        self.send_400_response("")

    def pause_writing(self) -> None:
        """The client takes an answer more slowly than it comes."""
        super().pause_writing()
        self._for_writing = self.loop.call_later(self._timeout, self.transport.abort)

    def resume_writing(self) -> None:
        """The client has taken most of what it was sent."""
        super().resume_writing()
        if self._for_writing:
            self._for_writing.cancel()

    def send_400_response(self, msg: str) -> None:
        """Close, after an answer with `Wire.refusal` as its status where that is no 0. The client is not told why.

        What is wrong in a body is told to the handler, which may answer without it.
        """
        if self.conn.is_in_body and self.conn.our_state is not h11.DONE:
            self.conn.close_after_answer()
            self.cycle.scope["state"]["refusal"] = self.conn.refusal
            self.cycle.more_body = False
            self.cycle.message_event.set()
            return
        if self.conn.our_state is h11.IDLE and self.conn.refusal:
            ranges = [RANGES] if self.conn.is_head_request else []
            refusal = h11.Response(status_code=self.conn.refusal, headers=FOR_BAD_HEAD + ranges)
            self.transport.write(self.conn.send(refusal) + self.conn.send(h11.EndOfMessage()))
        self.transport.close()

    def eof_received(self) -> bool:  # type: ignore[override]
        """The client has no more to say. Returns whether the connection stays open for an answer (asyncio's rule).

        A request that is not complete is refused. A complete one is answered, unless that takes its handler too long.
        An answer that has begun, a stream, ends.
        """
        self._said_all.set()
        if self._closing.is_closing():
            return False
        self.conn.receive_data(b"")
        if self.conn.is_reading:
            self.handle_events()
        return self.cycle is not None and not self.cycle.response_started
