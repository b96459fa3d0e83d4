"""Base of the tables: rows in the columns that the width has room for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from .columns import Column, Layout, lay_out
from .line import Line
from .row_list import RowList

__all__ = ["ColumnTable"]

RowT = TypeVar("RowT")


class ColumnTable(RowList[RowT], Generic[RowT]):
    """A list of rows in columns. Subclasses say which columns there are, and when there are others."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id, classes=classes)
        self._layout: tuple[int, Layout[RowT]] | None = None

    def all_columns(self) -> Sequence[Column[RowT]]:
        """Make all columns, whether there is room for them or not."""
        raise NotImplementedError

    def forget_columns(self) -> None:
        """Ask for the columns again at the next drawing."""
        self._layout = None

    def draw_head(self, width: int) -> Line:
        """Name the columns."""
        return self._laid_out(width).head()

    def draw_row(self, row: RowT, width: int) -> Line:
        """Draw one row."""
        return self._laid_out(width).row(row)

    def _laid_out(self, width: int) -> Layout[RowT]:
        if self._layout is None or self._layout[0] != width:
            self._layout = (width, lay_out(width, self.all_columns()))
        return self._layout[1]
