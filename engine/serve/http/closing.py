"""How a connection ends: a client that is still sending would see a reset instead of the answer to what it sent."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

__all__ = ["LINGER", "Closing"]

LINGER = 0.1
"""Seconds for which a client is heard out."""
MOST_BYTES = 1024 * 1024


class Closing:
    """A transport whose ``close`` says at once that no more comes, and then hears the client out for a moment."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._is_closing = False
        self._heard = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        """Whether it was closed."""
        return self._is_closing or self._transport.is_closing()

    def write(self, data: bytes) -> None:
        """Send bytes; after the end nobody gets them."""
        if not self._is_closing:
            self._transport.write(data)

    def close(self) -> None:
        """Send what waits, then the end."""
        if self.is_closing():
            return
        self._is_closing = True
        with suppress(OSError):  # the client has closed everything
            self._transport.write_eof()
        self._transport.resume_reading()
        asyncio.get_running_loop().call_later(LINGER, self._transport.close)

    def hear(self, data: bytes) -> None:
        """Take what comes after `close`; too much of it ends everything."""
        self._heard += len(data)
        if self._heard > MOST_BYTES:
            self._transport.close()
