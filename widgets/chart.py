"""Small charts over time, drawn with braille dots: two columns and four rows of dots per cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from math import floor, log10

from slotview.engine.observe.observation import Point

from .base.line import Line, Span, pad
from .numbers import count, rate
from .series import WINDOW, Column, Series

__all__ = ["Chart", "nice_top", "sparkline"]

_GUTTER = 7
_BREAK = "┊"
_BARS = "▁▂▃▄▅▆▇█"
_LEFT, _RIGHT = (0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08)  # dots from the bottom up


def _dots(nibble: int, dots: Sequence[int]) -> int:
    return sum(dot for bit, dot in enumerate(dots) if nibble >> bit & 1)


_CELLS = [[chr(0x2800 + _dots(a, _LEFT) + _dots(b, _RIGHT)) for b in range(16)] for a in range(16)]
_CELLS[0][0] = " "


class Chart:
    """One value of the history in one tone, as an area or as a line."""

    def __init__(
        self, value_of: Callable[[Point], float | None], tone: str, area: bool = True, least: float = 0.0
    ) -> None:
        self._series = Series(value_of)
        self._tone = tone
        self._area = area
        self._least = least

    def draw(
        self,
        history: Sequence[Point],
        now: float,
        width: int,
        height: int,
        top: float | None = None,
        without: str = "nothing measured yet",
    ) -> list[Line]:
        """Draw ``height`` lines with the scale at the left; if there are 4 or more, the last one names the times.

        ``top`` is the upper end of the scale; None = a round number above the largest value, and not below ``least``.
        ``without`` stands there alone while there is no value.
        """
        rows = height - 1 if height >= 4 else height
        n_cells = max(1, width - _GUTTER)
        columns = self._series.columns(history, now, 2 * n_cells)
        values = [column.value for column in columns]
        if all(value is None for value in values):
            return [((without, "dim"),), *[()] * (height - 1)]
        top = top or nice_top(max(self._least, *(value or 0.0 for value in values)))
        body = self._rows(columns, values, top, rows)
        lines: list[Line] = [((_scale(row, rows, top), "dim"), *spans) for row, spans in enumerate(body)]
        return lines if rows == height else [*lines, _times(n_cells)]

    def _rows(self, columns: Sequence[Column], values: Sequence[float | None], top: float, rows: int) -> list[Line]:
        levels = [None if value is None else _level(value, top, 4 * rows) for value in values]
        breaks = [column.is_break for column in columns]
        masks = list(_areas(levels) if self._area else _steps(levels, breaks))
        broken = [left or right for left, right in zip(breaks[::2], breaks[1::2], strict=True)]
        return [self._row(masks, broken, 4 * row) for row in reversed(range(rows))]

    def _row(self, masks: Sequence[int], broken: Sequence[bool], shift: int) -> Line:
        pairs = zip(masks[::2], masks[1::2], strict=True)
        text = "".join(_CELLS[left >> shift & 15][right >> shift & 15] for left, right in pairs)
        return ((text, self._tone),) if not any(broken) else tuple(_with_breaks(text, broken, self._tone))


def nice_top(value: float) -> float:
    """The smallest 1, 2 or 5 × 10ⁿ that is not below a value; 1 for 0."""
    if value <= 0:
        return 1.0
    unit = 10.0 ** floor(log10(value))
    return next((factor * unit for factor in (1, 2, 5) if value <= factor * unit * 1.0001), 10 * unit)


def sparkline(values: Sequence[float | None], top: float) -> str:
    """One cell per value, on a scale from 0 to ``top``; a space if the value is not known."""
    return "".join(" " if value is None else _BARS[min(7, max(0, round(7 * value / top)))] for value in values)


def _level(value: float, top: float, dots: int) -> int:
    """Height in dots: 0 for 0, at least 1 for anything above."""
    level = min(dots, round(dots * value / top))
    return max(1, level) if value > 0 else 0


def _areas(levels: Sequence[int | None]) -> Iterator[int]:
    """Bits for each column's dots, from the bottom: filled up to its level."""
    for level in levels:
        yield (1 << (level or 0)) - 1


def _steps(levels: Sequence[int | None], breaks: Sequence[bool]) -> Iterator[int]:
    """Bits for each column's dots: its level, joined to the one before unless that is unknown or there is a break."""
    before: int | None = None
    for level, is_break in zip(levels, breaks, strict=True):
        if level is None:
            yield 0
        else:
            start = level if before is None or is_break else before
            low, high = min(start, level), max(start, level)
            yield (1 << max(high, 1)) - (1 << (min(low, high - 1) if high else 0))
        before = level


def _with_breaks(text: str, broken: Sequence[bool], tone: str) -> Iterator[Span]:
    for is_break, run in groupby(zip(broken, text, strict=True), key=lambda pair: pair[0]):
        chars = [char for _, char in run]
        yield (_BREAK * len(chars), "faint") if is_break else ("".join(chars), tone)


def _scale(row: int, rows: int, top: float) -> str:
    """The text beside a row: the top value, and 0 at the bottom."""
    label = "0" if row == rows - 1 else ""
    if row == 0:
        label = count(top) if top >= 1 else rate(top)
    return pad(label, _GUTTER - 1, right=True) + " "


def _times(n_cells: int) -> Line:
    left = f"{WINDOW / 60:g} min ago"
    if n_cells < len(left) + 5:
        left = ""
    return ((" " * _GUTTER + left + "now".rjust(n_cells - len(left)), "dim"),)
