"""Base of what scrolls: lines with tones under a fixed head; only changed lines are drawn again."""

from __future__ import annotations

from typing import ClassVar

from rich.style import Style
from textual.binding import Binding, BindingType
from textual.events import Resize
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from ..look import Look
from .line import Line, cut, to_strip, tone_style

__all__ = ["LineScroll"]


class LineScroll(ScrollView):
    """A scrolling view of `n_lines` lines. Subclasses make a line when it is drawn, and say when it has changed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "go(-1)", "Up", show=False),
        Binding("down,j", "go(1)", "Down", show=False),
        Binding("home,g", "scroll_to_edge(0)", "Top", show=False),
        Binding("end,G", "scroll_to_edge(-1)", "Bottom", show=False),
    ]
    DEFAULT_CSS = """
    LineScroll {
        padding: 0 1;
        overflow-x: hidden;
        scrollbar-size: 0 1;
        scrollbar-gutter: stable;
        border-top: solid $foreground 15%;
        border-title-color: $foreground 80%;
        &:focus { border-top: solid $primary; border-title-color: $text-primary; }
        &.-stale { opacity: 75%; }
        &.-untitled { border-top: none; }
    }
    """
    ALLOW_SELECT = False

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id, classes=classes)
        self._head: Line | None = None

    def render_line(self, y: int) -> Strip:
        """Return the head, a line, or an empty one."""
        if self._head is not None and y == 0:
            return to_strip(self._head, self.size.width, self._style)
        index = y - self._head_height + self.scroll_offset.y
        if index < self.n_lines:
            return self.line_strip(index)
        return to_strip(self._blank(index), self.size.width, self._style)

    def line_strip(self, index: int) -> Strip:
        """Make the strip of one line."""
        return to_strip(self.draw_line(index, self.row_width), self.size.width, self._style)

    def _blank(self, index: int) -> Line:
        return ((cut(self.draw_empty(), self.row_width), "dim"),) if index == 0 and not self.n_lines else ()

    def _on_resize(self, event: Resize) -> None:
        self.lay_out()

    def action_go(self, n_lines: int) -> None:
        """Scroll some lines."""
        self.scroll_relative(y=n_lines, animate=False)

    def action_scroll_to_edge(self, index: int) -> None:
        """Scroll to the first line (0) or the last one (-1)."""
        self.scroll_to(y=0 if index == 0 else self.max_scroll_y, animate=False)

    @property
    def n_lines(self) -> int:
        """How many lines there are, not counting the head."""
        raise NotImplementedError

    def draw_head(self, width: int) -> Line | None:
        """Make the line that stays at the top; None if there is none."""
        return None

    def draw_line(self, index: int, width: int) -> Line:
        """Make one line."""
        raise NotImplementedError

    def draw_empty(self) -> str:
        """Say why there are no lines."""
        return ""

    def show(self, look: Look) -> None:
        """Draw a look."""
        raise NotImplementedError

    @property
    def row_width(self) -> int:
        """How many cells a line may take."""
        return self.scrollable_content_region.width

    @property
    def text(self) -> str:
        """The visible text, without colours."""
        return "\n".join(self.render_line(y).text.rstrip() for y in range(self.size.height)).rstrip()

    def lay_out(self) -> None:
        """Draw everything again, with the current number of lines."""
        self.set_head()
        self.virtual_size = Size(1, max(1, self.n_lines) + self._head_height)
        self.refresh()

    def set_head(self) -> bool:
        """Make the head again; return whether it has changed."""
        before, self._head = self._head, self.draw_head(self.row_width)
        return before != self._head

    def refresh_index(self, index: int) -> None:
        """Draw one line again."""
        self.refresh_line(index + self._head_height)

    @property
    def visible_lines(self) -> range:
        """The indices of the lines on the screen."""
        top = self.scroll_offset.y
        return range(top, min(self.n_lines, top + self._page))

    @property
    def _head_height(self) -> int:
        return 0 if self._head is None else 1

    @property
    def _page(self) -> int:
        return max(1, self.scrollable_content_region.height - self._head_height)

    def _style(self, tone: str) -> Style:
        return tone_style(self, tone)
