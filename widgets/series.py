"""One value over time in steps with fixed edges, updated point by point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import ceil, floor

from msgspec import Struct

from slotview.engine.observe.observation import Point

__all__ = ["WINDOW", "Column", "Series"]

WINDOW = 120.0
"""Seconds that a chart shows."""

_BRIDGED = 3.0
"""Seconds between two answers over which a value is assumed not to have changed."""


class Column(Struct):
    """One step of time: the mean of the values known in it; after a restart or a gap in it, only of the later ones."""

    total: float = 0.0
    n: int = 0
    is_break: bool = False

    @property
    def value(self) -> float | None:
        """The mean; None if nothing was known."""
        return self.total / self.n if self.n else None


class Series:
    """The last `WINDOW` seconds of a value. Steps begin at multiples of their length, so old ones never change."""

    def __init__(self, value_of: Callable[[Point], float | None]) -> None:
        self._value_of = value_of
        self._step = 0.0
        self._seen: float | None = None
        self._columns: dict[int, Column] = {}

    def columns(self, history: Sequence[Point], now: float, n: int) -> list[Column]:
        """Return ``n`` steps up to ``now``; steps without an answer repeat the one before, over a short time."""
        self._take(history, WINDOW / n)
        last = floor(now / self._step)
        for old in [index for index in self._columns if index <= last - n]:
            del self._columns[old]
        told = [index for index in self._columns if index <= last]
        columns = [self._columns.get(index, _NOTHING) for index in range(last - n + 1, last + 1)]
        _bridge(columns, [index - (last - n + 1) for index in told], max(2, ceil(_BRIDGED / self._step)))
        return columns

    def _take(self, history: Sequence[Point], step: float) -> None:
        """Add the new points; start over if the steps or the history have changed."""
        newest = history[-1].time if history else None
        if step != self._step or newest is None or (self._seen is not None and newest < self._seen):
            self._step, self._seen, self._columns = step, None, {}
        first = len(history)
        while first and (self._seen is None or history[first - 1].time > self._seen):
            first -= 1
        for point in history[first:]:
            self._add(point)
        self._seen = newest

    def _add(self, point: Point) -> None:
        column = self._columns.setdefault(floor(point.time / self._step), Column())
        if point.break_before:
            column.total, column.n, column.is_break = 0.0, 0, True
        value = self._value_of(point)
        if value is not None:
            column.total += value
            column.n += 1


_NOTHING = Column()


def _bridge(columns: list[Column], told: Sequence[int], longest: int) -> None:
    for before, after in pairwise(told):
        if after - before <= longest and not columns[after].is_break:
            columns[before + 1 : after] = [columns[before]] * (after - before - 1)
