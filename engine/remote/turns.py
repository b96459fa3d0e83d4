"""Telling a server that began anew from several that answer at one address in turn, as behind a load balancer."""

from __future__ import annotations

from collections import deque

from .endpoint import Name

__all__ = ["Turns"]

_OFTEN = 4  # times that ids or counters fell
_SOON = 10.0  # seconds within which no server starts that often and answers in between
_REMEMBERED = 150.0  # seconds for which a turn counts


class Turns:
    """Knows the marks by which one run of a server is told from another, and when runs seemed to begin."""

    def __init__(self) -> None:
        self._marks: dict[Name, list[str]] = {Name.PROPS: [], Name.METRICS: []}
        self._falls: deque[float] = deque(maxlen=_OFTEN)
        self._until = float("-inf")

    def mark(self, name: Name, mark: str | None, now: float) -> None:
        """An answer told the mark of its run. One that was there before another comes back only in turns."""
        marks = self._marks[name]
        if mark is None or mark in marks[-1:]:
            return
        if mark in marks:
            marks.remove(mark)
            self._until = now + _REMEMBERED
        marks.append(mark)
        del marks[:-32]

    def falls(self, now: float) -> None:
        """Ids or counters are lower than before, as when a run begins."""
        self._falls.append(now)
        if len(self._falls) == _OFTEN and now - self._falls[0] < _SOON:
            self._until = now + _REMEMBERED

    def are_taken(self, now: float) -> bool:
        """Whether several servers answer, so that no two answers belong together."""
        return now < self._until
