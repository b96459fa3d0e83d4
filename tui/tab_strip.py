"""One row of tabs, each with its digit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import Struct
from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.style import Style
from textual.widgets import Static

__all__ = ["Tab", "TabStrip"]


class Tab(Struct, frozen=True):
    """One tab: the digit that opens it, the id of its pane, and its title."""

    number: int
    name: str
    title: str


class TabStrip(Static):
    """Shows the tabs, which one is open, and whether that has the focus: the strip is the title of the open pane.

    A click is not a link of Textual's, which would take away the colours.
    """

    DEFAULT_CSS = """
    TabStrip {
        height: 1; padding: 0 1; background: $foreground 5%;
        &.-focused { background: $primary 25%; }
        &.-focused:ansi { background: ansi_default; text-style: reverse; }
    }
    """
    ALLOW_SELECT = False

    @dataclass
    class Opened(Message):
        """Open a tab."""

        name: str

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id, markup=False)
        self._shown: object = None

    def show_tabs(self, tabs: Sequence[Tab], current: str, has_focus: bool) -> None:
        """Draw the tabs, unless they have not changed. ``current``: the name of the open one."""
        self.set_class(has_focus, "-focused")
        if self._shown != (tabs, current):
            self._shown = (tabs, current)
            self.update(Content("  ").join(_drawn(tab, tab.name == current) for tab in tabs))

    def on_click(self, event: Click) -> None:
        """Ask for the tab under the pointer."""
        name = event.style.meta.get("tab")
        if name is not None:
            self.post_message(self.Opened(name))


def _drawn(tab: Tab, is_current: bool) -> Content:
    style = "bold $text-primary underline" if is_current else "$foreground 70%"
    text = Content.assemble((f"{tab.number} ", "$footer-key-foreground"), (tab.title, style))
    return text.stylize(Style.from_meta({"tab": tab.name}))
