"""Whether the client of a request still waits for the answer (spec §5.6)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import TypeVar

from starlette.requests import Request

__all__ = ["ClientGoneError", "has_said_all", "while_present"]

T = TypeVar("T")
TOGETHER = 0.05
"""Seconds within which a client closes its side that has said all and now reads; one that does so later went away."""
PATIENCE = 1.0
"""Seconds that an answer may take for a client that has said all."""


class ClientGoneError(Exception):
    """The client closed the connection; nobody reads an answer."""


def has_said_all(request: Request) -> bool:
    """Whether the client has closed its side of the connection."""
    return _end(request).is_set()


def _end(request: Request) -> asyncio.Event:
    event: asyncio.Event = request.state.said_all
    return event


async def while_present(request: Request, work: Coroutine[None, None, T]) -> T:
    """Await ``work`` unless the client goes away first. Raises `ClientGoneError`.

    To close its side and to go away look alike; the one comes with the request, the other while it is at work.
    """
    begun = time.monotonic()
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(request.receive())  # the body is read: what comes is news of the connection's end
    said_all = asyncio.ensure_future(_end(request).wait())
    try:
        await asyncio.wait((task, gone, said_all), return_when=asyncio.FIRST_COMPLETED)
        if not (task.done() or gone.done()) and time.monotonic() - begun < TOGETHER:
            await asyncio.wait((task, gone), timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientGoneError
        return task.result()
    finally:
        for waiting in (task, gone, said_all):
            waiting.cancel()
