"""Base of the lists: rows that scroll, one of them chosen."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property, partial
from typing import ClassVar, Generic, TypeVar

from textual.binding import Binding, BindingType
from textual.events import Click
from textual.strip import Strip

from .line import Line, to_strip, tone_style
from .line_scroll import LineScroll

__all__ = ["RowList"]

RowT = TypeVar("RowT")


class RowList(LineScroll, Generic[RowT]):
    """A list of rows. Subclasses say what a row looks like; a row must hold everything that this depends on."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False, system=True, tooltip="Choose the row above"),
        Binding("down,j", "move(1)", "Down", show=False, system=True, tooltip="Choose the row below"),
        Binding("pageup", "page(-1)", "Page up", show=False, system=True, tooltip="Go up one page"),
        Binding("pagedown", "page(1)", "Page down", show=False, system=True, tooltip="Go down one page"),
        Binding("home,g", "edge(0)", "First", show=False, system=True, tooltip="Choose the first row"),
        Binding("end,G", "edge(-1)", "Last", show=False, system=True, tooltip="Choose the last row"),
        Binding("enter", "open", "Open", key_display="↵", tooltip="Open the chosen row; a double click does so, too"),
    ]

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id, classes=classes)
        self._rows: tuple[RowT, ...] = ()
        self._chosen: Hashable | None = None
        self._cursor = 0
        self._refused: list[str] | None = None

    def why_not(self, action: str) -> str:
        """Why an action does nothing to the chosen row; "" if it does something."""
        return "there is nothing to open" if action == "open" and not self._rows else ""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Grey out what does nothing to the chosen row."""
        return None if self.why_not(action) else True

    def line_strip(self, index: int) -> Strip:
        """Make the strip of a row, highlighted if it is the chosen one."""
        if index != self._cursor:
            return super().line_strip(index)
        style = partial(tone_style, self, cursor="cursor-focused" if self.has_focus else "cursor")
        return to_strip(self.draw_line(index, self.row_width), self.size.width, style)

    def on_click(self, event: Click) -> None:
        """Choose the row under the pointer; a double click opens it."""
        offset = event.get_content_offset(self)
        index = -1 if offset is None else offset.y - self._head_height + self.scroll_offset.y
        if offset is None or offset.y < self._head_height or index >= len(self._rows):
            return
        self._go(index)
        if event.chain == 2:
            self.action_open()

    def action_move(self, step: int) -> None:
        """Choose a row ``step`` rows away."""
        self._go(self._cursor + step)

    def action_page(self, pages: int) -> None:
        """Choose a row some pages away."""
        self._go(self._cursor + pages * max(1, self._page - 1))

    def action_edge(self, index: int) -> None:
        """Choose the first row (0) or the last one (-1)."""
        self._go(0 if index == 0 else len(self._rows) - 1)

    def action_open(self) -> None:
        """Open the chosen row."""
        if self._rows:
            self.opened(self._rows[self._cursor])

    @property
    def n_lines(self) -> int:
        """A line for every row."""
        return len(self._rows)

    def draw_line(self, index: int, width: int) -> Line:
        """Make one row's line."""
        return self.draw_row(self._rows[index], width)

    def draw_row(self, row: RowT, width: int) -> Line:
        """Make one row's line."""
        raise NotImplementedError

    def key_of(self, row: RowT) -> Hashable:
        """Return what identifies a row, so that it stays chosen when the order changes."""
        raise NotImplementedError

    def highlighted(self, row: RowT) -> None:
        """Called when another row is chosen."""

    def opened(self, row: RowT) -> None:
        """Called for Enter or a double click."""

    @property
    def chosen(self) -> RowT | None:
        """The chosen row."""
        return self._rows[self._cursor] if self._rows else None

    def set_rows(self, rows: Sequence[RowT]) -> None:
        """Replace the rows; visible rows that differ are drawn again, and the chosen one stays chosen."""
        before, self._rows = self._rows, tuple(rows)
        cursor, self._cursor = self._cursor, self._find_chosen()
        self._update_keys()
        if len(before) != len(self._rows) or self.set_head():
            self.lay_out()
            return
        if not self._rows:
            self.refresh_index(0)  # the reason why there are none may have changed
        for index in self.visible_lines:
            if before[index] != self._rows[index] or (cursor != self._cursor and index in (cursor, self._cursor)):
                self.refresh_index(index)

    def choose(self, key: Hashable) -> None:
        """Choose the row with this key, if there is one."""
        index = next((i for i, row in enumerate(self._rows) if self.key_of(row) == key), None)
        if index is not None:
            self._go(index)

    def _find_chosen(self) -> int:
        """Return the index of the chosen row, or of the nearest one if it is gone."""
        last = max(0, len(self._rows) - 1)
        if self._cursor <= last and self._rows and self.key_of(self._rows[self._cursor]) == self._chosen:
            return self._cursor
        same = (i for i, row in enumerate(self._rows) if self.key_of(row) == self._chosen)
        index = next(same, min(self._cursor, last))
        self._choose(index)
        return index

    def _go(self, index: int) -> None:
        if not self._rows:
            return
        before, self._cursor = self._cursor, min(max(0, index), len(self._rows) - 1)
        self.refresh_index(before)
        self.refresh_index(self._cursor)
        self._scroll_to_cursor()
        self._choose(self._cursor)
        self._update_keys()

    def _choose(self, index: int) -> None:
        key = self.key_of(self._rows[index]) if self._rows else None
        if key != self._chosen:
            self._chosen = key
            if key is not None:
                self.highlighted(self._rows[index])

    def _update_keys(self) -> None:
        """Have the keys shown again if the chosen row is offered others."""
        refused = [action for action in self._shown_actions if self.why_not(action)]
        before, self._refused = self._refused, refused
        if before != refused:
            self.refresh_bindings()

    @cached_property
    def _shown_actions(self) -> list[str]:
        return [binding.action for _, binding in self._bindings if binding.show]

    def _scroll_to_cursor(self) -> None:
        top = self.scroll_offset.y
        if self._cursor < top:
            self.scroll_to(y=self._cursor, animate=False)
        elif self._cursor >= top + self._page:
            self.scroll_to(y=self._cursor - self._page + 1, animate=False)
