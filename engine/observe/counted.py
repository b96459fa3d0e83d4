"""Tokens that the server counted, though no answer about its slots told of them."""

from __future__ import annotations

from ..snapshot import Snapshot

__all__ = ["Counted"]

Span = tuple[float, float, int]
"""From when to when, and how many tokens."""

_Reading = tuple[float, float]  # when it was, and how many tokens
_NOTHING = 0.0, 0.0, 0
_EXACT = 1e6  # from here on the server rounds its counters (spec §7.6)


def _reading(snapshot: Snapshot) -> _Reading | None:
    """When the tokens of all tasks that have ended were counted, and how many; None also where they are rounded."""
    metrics = snapshot.facts.endpoints.get("metrics")
    told_at = None if metrics is None else metrics.answered_at
    total = snapshot.totals.predicted_tokens
    return None if told_at is None or total is None or total >= _EXACT else (told_at, total)


class Counted:
    """Compares the counter of tokens, which grows when a task ends (spec §7.6), with what was seen of ended tasks."""

    def __init__(self) -> None:
        self._seen = 0
        self.since: float | None = None  # all tokens of tasks that were gone after that time are counted
        self._beyond: float | None = None
        self._at = 0.0
        self._reading: _Reading | None = None

    def reading(self, snapshot: Snapshot, last: float | None, at: float) -> _Reading | None:
        """What was counted between the last answer and this one; it may be counted again before somebody looks."""
        readings = self._reading, _reading(snapshot)
        self._reading = readings[1]
        between = (one for one in readings if one is not None and last is not None and last <= one[0] < at)
        return next(between, None)

    def missing(self, reading: _Reading | None, ended: int, at: float) -> Span:
        """By how much the counter has grown beyond what was seen, and since when. ``ended``: tokens of tasks just gone.

        Those that are gone at this answer may be missing in the counter until the next. ``reading`` None = not read.
        """
        self._seen += ended
        if reading is None:
            self._beyond = self.since = None
            return _NOTHING
        start, (self._at, total) = self._at, reading
        before, beyond = self._beyond, total - self._seen
        if before is None:
            self._beyond, self.since = beyond + ended, at
            return _NOTHING
        self._beyond = max(beyond, before) if ended else beyond
        return start, self._at, max(0, int(beyond - before))
