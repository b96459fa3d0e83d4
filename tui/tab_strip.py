"""One row of tabs, each with its digit; a title may carry a count."""

from __future__ import annotations

from textual.content import Content
from textual.style import Style
from textual.widgets import Static

__all__ = ["TabStrip"]


class TabStrip(Static):
    """Shows the tabs there are and which one is open; a click asks the screen to ``show_tab``."""

    DEFAULT_CSS = """
    TabStrip { height: 1; padding: 0 1; background: $foreground 5%; link-style: none; link-style-hover: bold; }
    """
    ALLOW_SELECT = False

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id, markup=False)
        self._shown: object = None

    def show_tabs(self, tabs: tuple[tuple[int, str, str], ...], current: str) -> None:
        """Draw (digit, name, title) of each; nothing happens where nothing changed."""
        if self._shown != (tabs, current):
            self._shown = (tabs, current)
            parts = [_tab(number, name, title, name == current) for number, name, title in tabs]
            self.update(Content("  ").join(parts))


def _tab(number: int, name: str, title: str, is_current: bool) -> Content:
    style = "bold $text-primary underline" if is_current else "$foreground 70%"
    tab = Content.assemble((f"{number} ", "$footer-key-foreground"), (title, style))
    return tab.stylize(Style.from_meta({"@click": f"screen.show_tab({name!r})"}))
