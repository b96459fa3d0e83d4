"""One row of tabs, each with its digit; a title may carry a count."""

from __future__ import annotations

from dataclasses import dataclass

from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.style import Style
from textual.widgets import Static

__all__ = ["TabStrip"]


class TabStrip(Static):
    """Shows the tabs there are and which one is open. A click is no link of Textual's, which would take the colours."""

    DEFAULT_CSS = """
    TabStrip { height: 1; padding: 0 1; background: $foreground 5%; }
    """
    ALLOW_SELECT = False

    @dataclass
    class Opened(Message):
        """Open a tab."""

        name: str

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id, markup=False)
        self._shown: object = None

    def show_tabs(self, tabs: tuple[tuple[int, str, str], ...], current: str) -> None:
        """Draw (digit, name, title) of each; nothing happens where nothing changed."""
        if self._shown != (tabs, current):
            self._shown = (tabs, current)
            parts = [_tab(number, name, title, name == current) for number, name, title in tabs]
            self.update(Content("  ").join(parts))

    def on_click(self, event: Click) -> None:
        """Ask for the tab under the pointer."""
        name = event.style.meta.get("tab")
        if name is not None:
            self.post_message(self.Opened(name))


def _tab(number: int, name: str, title: str, is_current: bool) -> Content:
    style = "bold $text-primary underline" if is_current else "$foreground 70%"
    tab = Content.assemble((f"{number} ", "$footer-key-foreground"), (title, style))
    return tab.stylize(Style.from_meta({"tab": name}))
