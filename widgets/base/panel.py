"""Base of the panels: lines with tones; only changed lines are drawn again."""

from __future__ import annotations

from rich.style import Style
from textual.events import Resize
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from ..look import NO_LOOK, Look
from .line import Line, fit, to_strip, tone_style

__all__ = ["LinePanel"]


class LinePanel(Widget):
    """Draws the lines that `draw` makes of a look; `show` compares them with those on the screen."""

    DEFAULT_CSS = """
    LinePanel {
        height: auto;
        padding: 0 1;
        border-top: solid $foreground 15%;
        border-title-color: $foreground 80%;
        &.-stale { opacity: 75%; }
        &.-untitled { border-top: none; }
    }
    """
    ALLOW_SELECT = False

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id, classes=classes)
        self._look = NO_LOOK
        self._lines: list[Line] = []
        self._wanted = 0

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many lines as `draw` wants."""
        return max(1, len(self.draw(self._look, width, None)))

    def render_line(self, y: int) -> Strip:
        """Return one line. A panel that has just come into view may be asked for one before it knows its size."""
        self._lines = self._lines or self._drawn()
        line = self._lines[y] if y < len(self._lines) else ()
        return to_strip(line, self.size.width, self._style)

    def _on_resize(self, event: Resize) -> None:
        self._redraw()

    def draw(self, look: Look, width: int, height: int | None) -> list[Line]:
        """Make the lines for a content area of ``width`` cells; ``height`` None = as many as wanted."""
        raise NotImplementedError

    def show(self, look: Look) -> None:
        """Draw a look; lines that have not changed are left alone."""
        self._look = look
        self.set_class(not look.snapshot.health.is_live, "-stale")
        if self.size.width:
            self._redraw()

    @property
    def text(self) -> str:
        """The drawn text, without colours."""
        return "\n".join("".join(text for text, _ in line).rstrip() for line in self._lines)

    def _drawn(self) -> list[Line]:
        width = self.size.width
        return [fit(line, width) for line in self.draw(self._look, width, self.size.height)]

    def _redraw(self) -> None:
        before, self._lines = self._lines, self._drawn()
        if self._wants_other_height():
            self.refresh(layout=True)
        for y in range(max(len(before), len(self._lines))):
            if before[y : y + 1] != self._lines[y : y + 1]:
                self.refresh(Region(0, y, self.size.width, 1))

    def _wants_other_height(self) -> bool:
        if not self.styles.is_auto_height:
            return False
        before, self._wanted = self._wanted, self.get_content_height(self.size, self.size, self.size.width)
        return before != self._wanted

    def _style(self, tone: str) -> Style:
        return tone_style(self, tone)
