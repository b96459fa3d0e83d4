"""Requests of a scenario that are under way: in the background, or read event by event."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Sequence
from threading import Thread
from typing import TYPE_CHECKING

from .answers import event_of, parsed

if TYPE_CHECKING:
    from .client import Client

__all__ = ["PATIENCE", "Running", "Stream", "UnseenError"]

PATIENCE = 60.0
"""Seconds to wait for anything."""


class UnseenError(AssertionError):
    """What a scenario waits for did not happen."""


class Running:
    """A request in the background."""

    def __init__(self, client: Client, path: str, body: dict[str, object]) -> None:
        self._client = client
        self._path = path
        self._body = body
        self._answer: tuple[int, dict[str, str | None], str] | Exception | None = None
        self.ended = 0.0
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._answer = self._client.fetch(self._path, self._body)
        except (OSError, http.client.HTTPException) as error:
            self._answer = error
        self.ended = time.monotonic()

    def end(self, step: str = "", *, leave_out: Sequence[str] = ()) -> object:
        """Wait for the answer and record it."""
        self._thread.join(PATIENCE)
        if not isinstance(self._answer, tuple):
            raise UnseenError(f"{self._client.server.name}: no answer: {self._answer}")
        status, heads, text = self._answer
        answer = parsed(heads["Content-Type"] or "", text)
        self._client.note(step or f"end of {self._path}", {"status": status, "body": answer}, leave_out)
        return answer

    @property
    def is_over(self) -> bool:
        """Whether the answer has come."""
        return self._answer is not None


class Stream:
    """An event stream that is read bit by bit."""

    def __init__(self, connection: http.client.HTTPConnection, path: str, body: dict[str, object]) -> None:
        self._connection = connection
        connection.request("POST", path, json.dumps(body).encode())
        self._answer: http.client.HTTPResponse | None = None

    def status(self) -> int:
        """Wait for the head."""
        if self._answer is None:
            self._answer = self._connection.getresponse()
        return self._answer.status

    def take(self, count: int) -> list[object]:
        """Read that many events."""
        self.status()
        assert self._answer is not None
        found: list[object] = []
        while len(found) < count:
            line = self._answer.readline()
            if not line:
                break
            if line.startswith(b"data: "):
                found.append(event_of(line.decode("utf-8", "replace").strip()))
        return found

    def rest(self) -> list[object]:
        """Read to the end."""
        return self.take(1_000_000)

    def drop(self) -> None:
        """Go away without reading on."""
        link = self._connection.sock or getattr(self._answer, "fp", None)
        if isinstance(link, socket.socket):
            link.close()
        if self._answer is not None:
            self._answer.close()
        self._connection.close()
