"""HTTP/1.1 by h11, which answers what cannot be read as llama-server does: by a status and no body."""

from __future__ import annotations

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["Http"]

UNREADABLE = [(b"Server", b"llama.cpp"), (b"Connection", b"close"), (b"Content-Length", b"0")]
CUT_OFF = [(b"Server", b"llama.cpp"), (b"Access-Control-Allow-Origin", b""), *UNREADABLE[1:]]


class Http(H11Protocol):
    """uvicorn's protocol with other refusals."""

    def send_400_response(self, msg: str) -> None:
        """Refuse a head that is none; why is not told."""
        self._refuse(UNREADABLE)

    def eof_received(self) -> None:
        """A client that says it has no more, in the middle of a body, still hears that this was too little."""
        if self.conn.their_state is h11.SEND_BODY and self.conn.our_state is h11.SEND_RESPONSE:
            self._refuse(CUT_OFF)

    def _refuse(self, headers: list[tuple[bytes, bytes]]) -> None:
        for event in (h11.Response(status_code=400, headers=headers, reason=b"Bad Request"), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
