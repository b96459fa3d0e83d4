"""Small charts over time, drawn with braille dots: two columns and four rows of dots in a cell.

Time is cut into steps with fixed edges, so that between two looks mostly the last column changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, log10

from slotview.engine.observe.observation import Point

from .line import Line, Span, pad
from .numbers import count, rate

__all__ = ["WINDOW", "Chart", "Column", "bin_points", "nice_top", "sparkline"]

WINDOW = 120.0
"""Seconds that a chart shows."""

_DOTS = ((0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08))  # left and right column, from the bottom up
_BREAK = "┊"
_BARS = "▁▂▃▄▅▆▇█"


@dataclass(slots=True)
class Column:
    """One step of time: the mean of what was known in it, and whether a restart or a gap lies before it."""

    value: float | None = None
    is_break: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """How a series is drawn: what of a point, in which tone, area or line, up to which value (None = what fits)."""

    value_of: Callable[[Point], float | None]
    tone: str
    area: bool = True
    top: float | None = None

    def draw(self, history: Sequence[Point], now: float, width: int, height: int) -> list[Line]:
        """Draw ``height`` lines with the scale at the left; the last one names the times where there are 4 or more."""
        rows = height - 1 if height >= 4 else height
        gutter = 7
        n_cells = max(1, width - gutter)
        columns = bin_points(history, self.value_of, now, 2 * n_cells)
        top = self.top or nice_top(max((column.value or 0 for column in columns), default=0))
        body = self._rows(columns, top, rows)
        if all(column.value is None for column in columns):
            body[0] = (("nothing measured yet", "dim"),)
        lines = [((f"{self._scale(row, rows, top)} ", "dim"), *spans) for row, spans in enumerate(body)]
        return lines if rows == height else [*lines, _times(gutter, n_cells)]

    def _scale(self, row: int, rows: int, top: float) -> str:
        """The scale's text beside a row: the top value, and 0 at the bottom."""
        if row == 0:
            return pad(count(top) if top >= 1 else rate(top), 6, right=True)
        return pad("0" if row == rows - 1 else "", 6, right=True)

    def _rows(self, columns: Sequence[Column], top: float, rows: int) -> list[Line]:
        levels = [None if c.value is None else _level(c.value, top, 4 * rows) for c in columns]
        spans = list(_columns_dots(columns, levels, self.area))
        cells = range(0, len(columns) - 1, 2)
        return [
            tuple(_merged((_cell(columns, spans, i, rows - 1 - row), self.tone) for i in cells)) for row in range(rows)
        ]


def bin_points(
    history: Sequence[Point], value_of: Callable[[Point], float | None], now: float, n: int, window: float = WINDOW
) -> list[Column]:
    """Means of the last ``window`` seconds in ``n`` steps of time; steps without an answer repeat the one before."""
    step = window / n
    last = floor(now / step)
    sums = [[0.0, 0.0] for _ in range(n)]
    columns = [Column() for _ in range(n)]
    told: list[int] = []
    for point in reversed(history):
        index = n - 1 - (last - floor(point.time / step))
        if index < 0:
            break
        if index >= n:
            continue
        columns[index].is_break |= point.break_before
        value = value_of(point)
        told.append(index)
        if value is not None:
            sums[index][0] += value
            sums[index][1] += 1
    for column, (total, number) in zip(columns, sums, strict=True):
        column.value = total / number if number else None
    _bridge(columns, sorted(set(told)), max(2, ceil(3.0 / step)))
    return columns


def nice_top(value: float) -> float:
    """The next of 1, 2, 5 × 10ⁿ at or above a value; 1 for nothing."""
    if value <= 0:
        return 1.0
    unit = 10.0 ** floor(log10(value))
    return next((factor * unit for factor in (1, 2, 5) if value <= factor * unit * 1.0001), 10 * unit)


def sparkline(values: Sequence[float | None], top: float) -> str:
    """One cell for a value; a blank where it is not known."""
    return "".join(
        " " if v is None else _BARS[min(7, max(0, round(7 * v / top)))] if top > 0 else _BARS[0] for v in values
    )


def _bridge(columns: list[Column], told: Sequence[int], longest: int) -> None:
    """Fill steps that no point fell into from the one before, up to ``longest`` steps and never over a break."""
    for before, after in pairwise(told):
        if after - before <= longest and not columns[after].is_break:
            for index in range(before + 1, after):
                columns[index].value = columns[before].value


def _level(value: float, top: float, dots: int) -> int:
    """Height in dots: 0 for nothing, at least 1 for anything."""
    level = min(dots, round(dots * value / top))
    return max(1, level) if value > 0 else 0


def _columns_dots(columns: Sequence[Column], levels: Sequence[int | None], area: bool) -> Iterator[tuple[int, int]]:
    """Range of dots (from, to) of every column, from the bottom; a line joins neighbours."""
    before: int | None = None
    for column, level in zip(columns, levels, strict=True):
        if level is None:
            yield 0, 0
        elif area:
            yield 0, level
        else:
            start = level if before is None or column.is_break else before
            yield max(0, min(start, level - 1, level)), max(level, start, 1)
        before = level


def _cell(columns: Sequence[Column], spans: Sequence[tuple[int, int]], i: int, row: int) -> str:
    """Character of the cell whose left column is ``i``, ``row`` cells above the bottom."""
    if columns[i].is_break or columns[i + 1].is_break:
        return _BREAK
    bits = 0
    for side in (0, 1):
        first, last = spans[i + side]
        for dot in range(max(first, 4 * row), min(last, 4 * row + 4)):
            bits |= _DOTS[side][dot - 4 * row]
    return chr(0x2800 + bits) if bits else " "


def _merged(cells: Iterator[Span] | Sequence[Span]) -> Iterator[Span]:
    """Join neighbours; breaks get their own faint tone."""
    text, tone = "", ""
    for char, wanted in cells:
        tone_here = "faint" if char == _BREAK else wanted
        if text and tone_here != tone:
            yield text, tone
            text = ""
        text, tone = text + char, tone_here
    if text:
        yield text, tone


def _times(gutter: int, n_cells: int) -> Line:
    left = f"{WINDOW / 60:g} min ago"
    inside = f"{left}{'now'.rjust(n_cells - len(left))}" if n_cells >= len(left) + 5 else "now".rjust(n_cells)
    return ((" " * gutter + inside, "dim"),)
