"""How often to look: at the interval while there is work, at doubling gaps while there is none."""

from __future__ import annotations

__all__ = ["CAP", "Cadence"]

CAP = 60.0
_FIRST = 1.0
_BYTES_PER_SECOND = 1_000_000  # a larger answer is asked for less often than the interval says
_MOST_EXTRA = 5.0


class Cadence:
    """The gap between two looks at /slots, in seconds.

    ``metrics_every``: seconds between reads of /metrics; None = with each look, 0 = never, as each read resets the
    server's speed gauges for everyone.
    """

    def __init__(self, interval: float, *, backoff: bool = True, metrics_every: float | None = None) -> None:
        self.interval = interval
        self.backoff = backoff
        self.metrics_every = metrics_every
        self.idle_gap: float | None = None  # None = there is work
        self._least = 0.0

    @property
    def pace(self) -> float:
        """Seconds from one question to the next while there is work."""
        return max(self._least, self.interval)

    @property
    def gap(self) -> float:
        """Seconds from one question to the next."""
        return max(self.pace, self.idle_gap or 0.0)

    @property
    def at_cap(self) -> bool:
        """Whether the gaps have stopped growing."""
        return self.idle_gap is not None and self.idle_gap >= CAP

    @property
    def is_slowed(self) -> bool:
        """Whether the size or slowness of the answer stretches the interval."""
        return self._least > self.interval

    def set_interval(self, seconds: float) -> None:
        """Look this often while there is work."""
        self.interval = seconds

    def saw(self, *, busy: bool, seconds: float, size: int) -> None:
        """Choose the next gap after an answer."""
        self._least = max(min(2 * seconds, seconds + _MOST_EXTRA), size / _BYTES_PER_SECOND)
        if busy or not self.backoff:
            self.idle_gap = None
        elif self.idle_gap is None:
            self.idle_gap = max(_FIRST, self.interval)
        else:
            self.idle_gap = min(CAP, 2 * self.idle_gap)

    def too_large(self) -> None:
        """Look less often, since the answer was too large to read."""
        self._least = min(CAP, max(_MOST_EXTRA, 2 * self._least))

    def wake(self) -> None:
        """Start again with short gaps, since something may have begun."""
        self.idle_gap = None
