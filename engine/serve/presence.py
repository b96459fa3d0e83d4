"""Whether the client of a request still waits for the answer (spec §5.6)."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

from starlette.requests import Request

__all__ = ["ClientGoneError", "has_said_all", "while_present"]

T = TypeVar("T")
PATIENCE = 1.0
"""Seconds that an answer may take for a client that has said all, which is also how one looks that went away."""


class ClientGoneError(Exception):
    """The client closed the connection; nobody reads an answer."""


def has_said_all(request: Request) -> bool:
    """Whether the client has closed its side of the connection."""
    return _end(request).is_set()


def _end(request: Request) -> asyncio.Event:
    event: asyncio.Event = request.state.said_all
    return event


async def while_present(request: Request, work: Coroutine[None, None, T]) -> T:
    """Await ``work`` unless the client goes away first. Raises `ClientGoneError`."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(request.receive())  # the body is read: what comes is news of the connection's end
    said_all = asyncio.ensure_future(_end(request).wait())
    try:
        await asyncio.wait((task, gone, said_all), return_when=asyncio.FIRST_COMPLETED)
        if not (task.done() or gone.done()):
            await asyncio.wait((task, gone), timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientGoneError
        return task.result()
    finally:
        for waiting in (task, gone, said_all):
            waiting.cancel()
