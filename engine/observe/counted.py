"""Tokens that the server counted, though no answer about its slots told of them."""

from __future__ import annotations

from math import inf

from msgspec import Struct

from ..snapshot import Snapshot

__all__ = ["Counted"]

Span = tuple[float, float, int]
"""From when to when, and how many tokens."""

_NOTHING: Span = (0.0, 0.0, 0)
_EXACT = 1e6  # tokens: from here on the server rounds its counters (spec §7.6)


class _Reading(Struct, frozen=True):
    """When the counter was read, and how many tokens the tasks had decoded that had ended by then."""

    at: float
    total: float


class Counted:
    """Compares the counter of tokens, which grows when a task ends (spec §7.6), with what was seen of ended tasks.

    ``since``: the tokens of all tasks that ended between that time and the last answer are counted.
    """

    def __init__(self) -> None:
        self.since = inf
        self._seen = 0
        self._beyond: float | None = None
        self._at = 0.0
        self._latest: _Reading | None = None

    def answer(self, snapshot: Snapshot, last: float | None, at: float, ended: int) -> Span:
        """Take in an answer about the slots; ``ended``: the tokens of tasks that are gone since the ``last`` one.

        Returns by how much the counter has grown beyond what was seen, and since when. The tasks that are gone at this
        answer may be missing in the counter until the next.
        """
        reading = self._between(snapshot, last, at)
        self._seen += ended
        if reading is None:
            self._beyond, self.since = None, inf
            return _NOTHING
        start, self._at = self._at, reading.at
        before, beyond = self._beyond, reading.total - self._seen
        if before is None:
            self._beyond, self.since = beyond + ended, at
            return _NOTHING
        self._beyond = max(beyond, before) if ended else beyond
        return start, reading.at, max(0, int(beyond - before))

    def _between(self, snapshot: Snapshot, last: float | None, at: float) -> _Reading | None:
        """What was counted between two answers; it may have been counted again before somebody looked."""
        readings = self._latest, _reading(snapshot)
        self._latest = readings[1]
        between = (one for one in readings if one is not None and last is not None and last <= one.at < at)
        return next(between, None)


def _reading(snapshot: Snapshot) -> _Reading | None:
    """What a snapshot tells; None also where the counter is rounded."""
    metrics = snapshot.facts.endpoints.get("metrics")
    told_at = None if metrics is None else metrics.answered_at
    total = snapshot.totals.predicted_tokens
    return None if told_at is None or total is None or total >= _EXACT else _Reading(told_at, total)
