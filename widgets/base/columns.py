"""Columns of a table: what each shows of a row, and which of them fit into a width."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ..numbers import UNKNOWN
from .line import Line, Span, pad

__all__ = ["NOTHING", "Column", "Layout", "lay_out", "says"]

RowT = TypeVar("RowT")

NOTHING: Line = ((UNKNOWN, "faint"),)
"""A cell whose value is not known or does not apply."""
_ROOM = 8  # cells for a column to grow by before gaps widen


class Column(Struct, Generic[RowT], frozen=True):
    """A column; the one with the highest ``rank`` is the first to be left out.

    ``cell`` makes one span, which is padded, or several, which already fill the width. If ``widest`` is above
    ``width``, the column may grow into free room.
    """

    title: str
    width: int
    rank: int
    cell: Callable[[RowT, int], Line]
    right: bool = True
    widest: int = 0


class Layout(Struct, Generic[RowT], frozen=True):
    """The columns that fit into a width, and the gap between them."""

    columns: tuple[Column[RowT], ...]
    gap: int

    def head(self) -> Line:
        """The columns' names."""
        titles = (pad(column.title, column.width, column.right) for column in self.columns)
        return (((" " * self.gap).join(titles), "heading"),)

    def row(self, row: RowT) -> Line:
        """One row's cells."""
        spans: list[Span] = []
        for column in self.columns:
            if spans:
                spans.append((" " * self.gap, ""))
            spans += _fitted(column, row)
        return tuple(spans)


def says(text: str, tone: str = "") -> Line:
    """A cell with one text; if that is unknown, it is faint whatever the tone."""
    return NOTHING if text == UNKNOWN else ((text, tone),)


def lay_out(width: int, columns: Sequence[Column[RowT]]) -> Layout[RowT]:
    """Choose the columns for ``width`` cells; free room goes to the column that grows, then to the gaps."""
    kept = list(columns)
    while len(kept) > 2 and _needed(kept, 1) > width:
        kept.remove(max(kept, key=lambda column: column.rank))
    wide = [replace(column, width=max(column.width, column.widest)) for column in kept]
    gap = next((gap for gap in (4, 3) if _needed(wide, gap) <= width), 2 if _needed(kept, 2) + _ROOM <= width else 1)
    spare = max(0, width - _needed(kept, gap))
    return Layout(tuple(_grown(column, spare) for column in kept), gap)


def _grown(column: Column[RowT], spare: int) -> Column[RowT]:
    return replace(column, width=min(column.widest, column.width + spare)) if column.widest > column.width else column


def _needed(columns: Sequence[Column[RowT]], gap: int) -> int:
    return sum(column.width for column in columns) + gap * (len(columns) - 1)


def _fitted(column: Column[RowT], row: RowT) -> Line:
    cell = column.cell(row, column.width)
    if len(cell) > 1:
        return cell
    return ((pad(cell[0][0], column.width, column.right), cell[0][1]),)
