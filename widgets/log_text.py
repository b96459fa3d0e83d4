"""A log with its long lines broken instead of cut off."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from .base.following_scroll import FollowingScroll
from .base.line import Line, line_width, wrap
from .look import Look

__all__ = ["LogText"]

_INDENT = 2
_REMEMBERED = 4096  # lines


class LogText(FollowingScroll):
    """Rows that follow the end while that is in view."""

    DEFAULT_CSS = """
    LogText { height: 1fr; min-height: 3; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id, classes=classes)
        self._lines: tuple[Line, ...] = ()
        self._rows: list[Line] = []

    @property
    def n_lines(self) -> int:
        """Rows of all lines."""
        return len(self._rows)

    def draw_line(self, index: int, width: int) -> Line:
        """Make one row."""
        return self._rows[index]

    def draw_empty(self) -> str:
        """Say that nothing has happened yet."""
        return "nothing has happened yet"

    def show(self, look: Look) -> None:
        """The lines come through `show_lines`."""

    def show_lines(self, lines: Sequence[Line]) -> None:
        """Show these lines, unless they are the ones that are shown."""
        new = tuple(lines)
        if new != self._lines:
            self._lines = new
            self.lay_out()

    def lay_out(self) -> None:
        """Break all lines to the width there is."""
        width = self.row_width
        self._rows = [row for line in self._lines for row in _broken(line, width)] if width > 0 else []
        super().lay_out()


@lru_cache(maxsize=_REMEMBERED)
def _broken(line: Line, width: int) -> tuple[Line, ...]:
    """Break the text of a line; what stands before it (a time, a count) keeps a column of its own."""
    *before, (text, tone) = line
    indent = min(line_width(before) or _INDENT, width // 2)
    first, *rest = wrap(text, width - indent)
    return ((*before, (first, tone)), *(((" " * indent, ""), (row, tone)) for row in rest))
