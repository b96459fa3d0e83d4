"""Tokens per second, from the counts that slots report and the times of those reports.

A speed comes from two answers about the same task, never from a server's speed gauges, nor from counters that move
only when a generation ends (spec §7.6).
"""

from __future__ import annotations

from collections import deque

__all__ = ["WINDOW", "GenerationSpeed", "PromptSpeed", "Throughput", "exact_generation", "exact_prompt", "speed"]

WINDOW = 5.0  # seconds a speed looks back
SHORTEST = 0.2  # seconds: two answers closer together give no reliable speed
LONGEST_PAUSE = 1.0  # seconds without a token before a pause counts as a speed of 0
FASTEST = 1e6  # tokens/s: beyond this a count has jumped, and no tokens were generated


def speed(tokens: float, seconds: float, shortest: float = SHORTEST) -> float | None:
    """Tokens per second, or None if the two numbers give no plausible speed."""
    if tokens < 0 or not seconds >= shortest or tokens > FASTEST * seconds:
        return None
    return tokens / seconds


def exact_generation(n_decoded: int | None, n_untimed: int, seconds: float | None) -> float | None:
    """A task's speed by its own clock: tokens that came with the prompt do not count (spec §7.11)."""
    if n_decoded is None or seconds is None or n_decoded <= n_untimed:
        return None
    return speed(n_decoded - n_untimed, seconds, shortest=1e-6)


def exact_prompt(n_processed: int | None, seconds: float | None) -> float | None:
    """A prompt's speed by the engine's own clock; None until the first piece is done (spec §7.11)."""
    if not n_processed or seconds is None:
        return None
    return speed(n_processed, seconds, shortest=1e-6)


class GenerationSpeed:
    """Speed of one task's answer over the last `WINDOW` seconds of answers."""

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque(maxlen=64)

    def add(self, at: float, n_decoded: int) -> None:
        """Note how many tokens had been decoded by then. A count of 0 belongs to the prompt, not to the answer."""
        seen = self._seen
        if n_decoded < 1:
            return
        if seen and n_decoded < seen[-1][1]:
            seen.clear()
        seen.append((at, n_decoded))
        while len(seen) > 2 and seen[1][0] <= at - WINDOW:
            seen.popleft()

    @property
    def value(self) -> float | None:
        """Tokens per second; None until two answers are far enough apart."""
        if len(self._seen) < 2:
            return None
        (start, first), (end, last) = self._beginning, self._seen[-1]
        return speed(last - first, end - start, SHORTEST if last > first else LONGEST_PAUSE)

    @property
    def _beginning(self) -> tuple[float, float]:
        """When the window begins, and how many tokens had been decoded by then, at an even pace between answers."""
        (start, first), (end, last) = self._seen[0], self._seen[1]
        left = self._seen[-1][0] - WINDOW
        return (left, first + (last - first) * (left - start) / (end - start)) if start < left < end else (start, first)


class PromptSpeed:
    """Speed of one prompt, from one jump of its count to another.

    The count of processed tokens does not change while a batch runs and jumps at its end, so time is measured between
    jumps. Until there are two, the task's beginning serves, if it was seen and was long enough before the jump.
    """

    __slots__ = ("_begun", "_doubt", "_jumps", "_last")

    def __init__(self) -> None:
        self._jumps: deque[tuple[float, int]] = deque(maxlen=8)
        self._last: int | None = None
        self._begun: float | None = None
        self._doubt = 0.0

    def begin(self, at: float, doubt: float) -> None:
        """Note that the task was first seen at ``at``, and was not there yet ``doubt`` seconds earlier."""
        self._begun, self._doubt = at, doubt

    def add(self, at: float, n_processed: int) -> None:
        """Note how many prompt tokens had been processed by then."""
        last, self._last = self._last, n_processed
        if last is None:
            if n_processed > 0:
                self._begun = None  # the first piece was done before the first look: its time is not known
        elif n_processed > last:
            self._jumps.append((at, n_processed))
        elif n_processed < last:
            self._jumps.clear()

    @property
    def value(self) -> float | None:
        """Tokens per second; None until two jumps were seen, or one long enough after the beginning."""
        if not self._jumps:
            return None
        end, last = self._jumps[-1]
        if len(self._jumps) > 1:
            start, first = self._jumps[0]
            return speed(last - first, end - start)
        if self._begun is None or end - self._begun < 2 * self._doubt:
            return None
        return speed(last, end - self._begun)

    @property
    def since(self) -> float | None:
        """Time of the latest jump, else of the beginning, if that was seen."""
        return self._jumps[-1][0] if self._jumps else self._begun


class Throughput:
    """Tokens of all slots together over a sliding window; what one answer adds is spread over the time it took."""

    def __init__(self) -> None:
        self._start: float | None = None
        self._spans: deque[tuple[float, float, int]] = deque(maxlen=8192)

    def begin(self, at: float) -> None:
        """Note the first answer: what was done before it is unknown."""
        self._start = at
        self._spans.clear()

    def add(self, start: float, end: float, tokens: int) -> None:
        """Note ``tokens`` done between two times."""
        if tokens > 0 and speed(tokens, max(end - start, SHORTEST)) is not None:
            self._spans.append((start, end, tokens))

    def rate(self, now: float) -> float | None:
        """Tokens per second over the last `WINDOW` seconds before ``now``; None right after the first answer."""
        if self._start is None:
            return None
        left = max(self._start, now - WINDOW)
        while self._spans and self._spans[0][1] <= left:
            self._spans.popleft()
        return speed(sum(_share(span, left) for span in self._spans), now - left)


def _share(span: tuple[float, float, int], left: float) -> float:
    """The part of a span's tokens that falls after ``left``."""
    start, end, tokens = span
    if start >= left:
        return tokens
    return tokens * (end - left) / (end - start) if end > left else 0.0
