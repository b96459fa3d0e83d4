"""Base of the lists and tables: rows that scroll, one of them chosen; only rows that changed are drawn again."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar, Generic, TypeVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.events import Blur, Click, Focus, Resize
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from .line import TONE_RULES, TONES, Line, component, cut, to_strip
from .look import Look

__all__ = ["RowList"]

RowT = TypeVar("RowT")


class RowList(ScrollView, Generic[RowT]):
    """A scrolling list. Subclasses say how a row looks; a row must hold all that its look depends on."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False, tooltip="Choose the row above"),
        Binding("down,j", "move(1)", "Down", show=False, tooltip="Choose the row below"),
        Binding("pageup", "page(-1)", "Page up", show=False, tooltip="Go up one page"),
        Binding("pagedown", "page(1)", "Page down", show=False, tooltip="Go down one page"),
        Binding("home,g", "edge(0)", "First", show=False, tooltip="Choose the first row"),
        Binding("end,G", "edge(-1)", "Last", show=False, tooltip="Choose the last row"),
        Binding("enter", "open", "Open", show=False, tooltip="Open the chosen row"),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = TONES
    DEFAULT_CSS = f"""
    RowList {{
        padding: 0 1;
        overflow-x: hidden;
        scrollbar-size-vertical: 1;
        border-top: solid $foreground 15%;
        border-title-color: $foreground 80%;
        border-subtitle-color: $foreground 60%;
        &:focus {{ border-top: solid $primary; }}
        &.-stale {{ opacity: 60%; }}
        {TONE_RULES}
    }}
    """
    ALLOW_SELECT = False

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id, classes=classes)
        self._rows: tuple[RowT, ...] = ()
        self._head: Line | None = None
        self._chosen: Hashable | None = None
        self._cursor = 0

    def render_line(self, y: int) -> Strip:
        """Return the head, a row, or an empty line."""
        width = self.size.width
        if self._head is not None and y == 0:
            return to_strip(self._head, width, self._style)
        index = y - self._head_height + self.scroll_offset.y
        if index >= len(self._rows):
            return to_strip(self._blank(index), width, self._style)
        strip = to_strip(self.draw_row(self._rows[index], self.row_width), width, self._style)
        return self._highlight(strip) if index == self._cursor else strip

    def _blank(self, index: int) -> Line:
        return ((cut(self.draw_empty(), self.row_width), "dim"),) if index == 0 and not self._rows else ()

    def _highlight(self, strip: Strip) -> Strip:
        """Give a row the cursor's background, except where it has one of its own."""
        plain = self.rich_style.bgcolor
        cursor = Style(bgcolor=self._style("cursor-focused" if self.has_focus else "cursor").bgcolor)
        segments = (
            Segment(text, style + cursor if style is not None and style.bgcolor == plain else style)
            for text, style, _ in strip
        )
        return Strip(segments, strip.cell_length)

    def _on_resize(self, event: Resize) -> None:
        self._lay_out()

    def _on_focus(self, event: Focus) -> None:
        self._refresh_row(self._cursor)

    def _on_blur(self, event: Blur) -> None:
        self._refresh_row(self._cursor)

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

    def draw_head(self, width: int) -> Line | None:
        """Make the line that stays at the top, if any."""
        return None

    def draw_row(self, row: RowT, width: int) -> Line:
        """Make one row's line."""
        raise NotImplementedError

    def draw_empty(self) -> str:
        """Say why there are no rows."""
        return ""

    def key_of(self, row: RowT) -> Hashable:
        """Name what a row is about; the choice follows it when the order changes."""
        raise NotImplementedError

    def highlighted(self, row: RowT) -> None:
        """Do what follows when another row is chosen."""

    def opened(self, row: RowT) -> None:
        """Do what Enter or a double click asks for."""

    def show(self, look: Look) -> None:
        """Draw a look."""
        raise NotImplementedError

    @property
    def chosen(self) -> RowT | None:
        """The chosen row."""
        return self._rows[self._cursor] if self._rows else None

    @property
    def row_width(self) -> int:
        """Cells a row may take."""
        return self.scrollable_content_region.width

    @property
    def text(self) -> str:
        """What is visible, without colours."""
        return "\n".join(self.render_line(y).text.rstrip() for y in range(self.size.height)).rstrip()

    def set_rows(self, rows: Sequence[RowT]) -> None:
        """Replace the rows; visible ones that differ are drawn again, the chosen one stays chosen."""
        before, self._rows = self._rows, tuple(rows)
        cursor, self._cursor = self._cursor, self._find_chosen()
        if len(before) != len(self._rows):
            self._lay_out()
            return
        if self._set_head():
            self.refresh()
            return
        for index in self._visible():
            if before[index] != self._rows[index] or (cursor != self._cursor and index in (cursor, self._cursor)):
                self._refresh_row(index)

    def choose(self, key: Hashable) -> None:
        """Choose the row about ``key``, if it is there."""
        index = next((i for i, row in enumerate(self._rows) if self.key_of(row) == key), None)
        if index is not None:
            self._go(index)

    @property
    def _head_height(self) -> int:
        return 0 if self._head is None else 1

    @property
    def _page(self) -> int:
        return max(1, self.size.height - self._head_height)

    def _visible(self) -> range:
        top = self.scroll_offset.y
        return range(top, min(len(self._rows), top + self._page))

    def _set_head(self) -> bool:
        before, self._head = self._head, self.draw_head(self.row_width)
        return before != self._head

    def _lay_out(self) -> None:
        self._set_head()
        self.virtual_size = Size(1, max(1, len(self._rows)) + self._head_height)
        self.refresh()

    def _find_chosen(self) -> int:
        """Return the index of what was chosen, else the nearest one there is."""
        last = max(0, len(self._rows) - 1)
        if self._cursor <= last and self._rows and self.key_of(self._rows[self._cursor]) == self._chosen:
            return self._cursor
        keys = (i for i, row in enumerate(self._rows) if self.key_of(row) == self._chosen)
        index = next(keys, min(self._cursor, last))
        self._choose(index)
        return index

    def _go(self, index: int) -> None:
        if not self._rows:
            return
        before, self._cursor = self._cursor, min(max(0, index), len(self._rows) - 1)
        self._refresh_row(before)
        self._refresh_row(self._cursor)
        self._scroll_to_cursor()
        self._choose(self._cursor)

    def _choose(self, index: int) -> None:
        key = self.key_of(self._rows[index]) if self._rows else None
        if key != self._chosen:
            self._chosen = key
            if key is not None:
                self.highlighted(self._rows[index])

    def _scroll_to_cursor(self) -> None:
        top = self.scroll_offset.y
        if self._cursor < top:
            self.scroll_to(y=self._cursor, animate=False)
        elif self._cursor >= top + self._page:
            self.scroll_to(y=self._cursor - self._page + 1, animate=False)

    def _refresh_row(self, index: int) -> None:
        self.refresh_line(index + self._head_height)

    def _style(self, tone: str) -> Style:
        return self.get_component_rich_style(component(tone)) if tone else self.rich_style
