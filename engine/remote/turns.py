"""Tells a server that was restarted from several that take turns at one address, as behind a load balancer."""

from __future__ import annotations

from collections import deque

from .endpoint import Route

__all__ = ["Turns"]

_OFTEN = 4  # times that ids or counters fell
_SOON = 10.0  # seconds within which no server starts that often and answers in between
_REMEMBERED = 150.0  # seconds for which a turn counts


class Turns:
    """Remembers the marks that tell one run of a server from another, and when runs seemed to begin."""

    def __init__(self) -> None:
        self._marks: dict[Route, list[str]] = {Route.PROPS: [], Route.METRICS: []}
        self._falls: deque[float] = deque(maxlen=_OFTEN)
        self._until = float("-inf")

    def mark(self, name: Route, mark: str | None, now: float) -> None:
        """Note the mark of the run that answered. If an earlier mark comes back, servers take turns."""
        marks = self._marks[name]
        if mark is None or mark in marks[-1:]:
            return
        if mark in marks:
            marks.remove(mark)
            self._until = now + _REMEMBERED
        marks.append(mark)
        del marks[:-32]

    def falls(self, now: float) -> None:
        """Note that ids or counters are lower than before, as when a run begins."""
        self._falls.append(now)
        if len(self._falls) == _OFTEN and now - self._falls[0] < _SOON:
            self._until = now + _REMEMBERED

    def are_taken(self, now: float) -> bool:
        """Whether several servers take turns, so that no two answers belong together."""
        return now < self._until
