"""What comes of a question to a server: an answer, or a fault that says why there is none."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

__all__ = ["UNREAD", "Answer", "Fault"]


class Fault(StrEnum):
    """Why there is no answer."""

    REFUSED = "connection refused"
    CONNECT = "no connection"
    NAME = "host name not found"
    UNREACHABLE = "host not reachable"
    TIMEOUT = "no answer"
    UNCONNECTED = "no connection in time"
    DROPPED = "connection dropped"
    TLS = "no secure connection"
    TOO_LARGE = "answer too large"
    SLOW = "answer too slow"
    NOT_HTTP = "no HTTP"
    GARBLED = "answer cannot be read"
    OTHER = "error"


UNREAD = (Fault.TOO_LARGE, Fault.SLOW, Fault.GARBLED)
"""Faults of an answer that arrived, or began to, and so of a server that is there."""


class Answer(Struct, frozen=True):
    """What came back: a status and body, or a fault with one line about it. ``seconds``: from asking to the end."""

    status: int = 0
    body: bytes = b""
    fault: Fault | None = None
    message: str = ""
    seconds: float = 0.0
    start_mark: str | None = None  # Process-Start-Time-Unix, the same as long as the server runs
    pointer: str = ""  # where a redirect leads, or which credentials a 401 asks for
    age: float = 0.0  # seconds for which a cache on the way has kept it
    pause: float | None = None  # seconds after which to ask again, if the server says so (Retry-After)
