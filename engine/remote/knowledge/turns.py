"""Tells a server that was restarted from several that take turns at one address, as behind a load balancer."""

from __future__ import annotations

from collections import deque

from .endpoint import Route

__all__ = ["Turns"]

_OFTEN = 4  # times that ids or counters fell
_SOON = 10.0  # seconds within which no server starts that often and answers in between
_REMEMBERED = 150.0  # seconds for which a turn counts
_AT_ONCE = 1.0  # seconds within which no server is started anew between two answers of /props


class Turns:
    """Remembers the marks that tell one run of a server from another, and when runs seemed to begin."""

    def __init__(self) -> None:
        self._marks: dict[Route, list[str]] = {Route.PROPS: [], Route.METRICS: []}
        self._falls: deque[float] = deque(maxlen=_OFTEN)
        self._until = float("-inf")
        self._n_told = 0  # answers of /props
        self._told_at = float("-inf")

    @property
    def wants_another(self) -> bool:
        """Whether /props has answered once, with a mark: asked again at once, a second server there shows itself.

        Two that take strict turns would else never be told apart: one gets all questions about slots, the other all
        about counters.
        """
        return self._n_told == 1 and bool(self._marks[Route.PROPS])

    def mark(self, name: Route, mark: str | None, now: float) -> None:
        """Note the mark of the run that answered. If an earlier mark comes back, servers take turns."""
        marks = self._marks[name]
        is_second = name is Route.PROPS and self._n_told == 1 and now - self._told_at < _AT_ONCE
        if name is Route.PROPS:
            self._n_told, self._told_at = self._n_told + 1, now
        if mark is None or mark in marks[-1:]:
            return
        if mark in marks or (marks and is_second):
            self._until = now + _REMEMBERED
        if mark in marks:
            marks.remove(mark)
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
