"""State and text of a request fired from here: what the tickets of all backends have in common."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

from msgspec.structs import replace

from .backend import RequestState, RequestView

__all__ = ["BaseTicket"]


class BaseTicket:
    """The reading side of `Ticket`, for the screen's thread; subclasses write, from the thread that serves the request.

    ``clock`` returns seconds. Methods that begin with an underscore expect the lock to be held, except `_end_early`.
    """

    def __init__(self, number: int, prompt: str, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = Lock()
        self._view = RequestView(number, RequestState.WAITING, prompt, fired_at=clock())
        self._parts: list[str] = []
        self._n_taken = 0

    @property
    def number(self) -> int:
        """Its number among those fired from here, from 1."""
        return self._view.number

    def view(self) -> RequestView:
        """Return its present state."""
        return self._view

    def take(self) -> str:
        """Return the text that came since the last call."""
        with self._lock:
            start, self._n_taken = self._n_taken, len(self._parts)
            return "".join(self._parts[start:])

    def text(self) -> str:
        """Return all text so far."""
        with self._lock:
            return "".join(self._parts)

    def fail(self, why: str, status: int | None = None) -> None:
        """End it with an error, unless it is over already; ``status`` is HTTP's."""
        self._end_early(RequestState.FAILED, why, status)

    def _end_early(self, state: RequestState, why: str, status: int | None = None) -> bool:
        """End it without an answer; False if it was over already."""
        with self._lock:
            if self._view.state.is_over:
                return False
            self._end(state, why, status=status)
            return True

    def _end(self, state: RequestState, finish: str | None, **fields: Any) -> None:
        if state is RequestState.CANCELLED:
            fields["queue_wait"] = self._view.waited(self._clock())  # for it may have waited until now
        self._change(state=state, finish=finish, total_seconds=self._elapsed(), **fields)

    def _change(self, **fields: Any) -> None:
        self._view = replace(self._view, **fields)

    def _elapsed(self) -> float:
        """Seconds since it was fired."""
        return self._clock() - self._view.fired_at
