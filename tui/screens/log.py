"""The log on the whole screen, its long lines broken instead of cut off."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from textual.widget import Widget

from slotview.widgets.base.line import Line
from slotview.widgets.log_text import LogText

from .dialog import Dialog

__all__ = ["LogScreen"]

_EVERY = 0.25


class LogScreen(Dialog[None]):
    """Follows the lines of the log below it."""

    DEFAULT_CLASSES = "-large"
    DEFAULT_CSS = """
    LogScreen LogText { height: 1fr; }
    """

    def __init__(self, lines: Callable[[], Sequence[Line]]) -> None:
        super().__init__()
        self._lines = lines

    def title_text(self) -> str:
        """Return the title."""
        return "Log"

    def inside(self) -> Iterable[Widget]:
        """Make the text."""
        yield LogText(id="text", classes="-untitled")

    def on_mount(self) -> None:
        """Follow the log, from its end on."""
        self.query_one(LogText).focus()
        self.call_after_refresh(self._show)
        self.set_interval(_EVERY, self._show)

    def _show(self) -> None:
        self.query_one(LogText).show_lines(self._lines())
