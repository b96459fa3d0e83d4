"""Lists a router's models, to choose one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from rich.cells import cell_len
from textual import on
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from slotview.engine.text.plain import plain
from slotview.widgets.base.line import cut_middle, pad

from .dialog import Dialog

__all__ = ["ModelScreen"]


class ModelList(OptionList):
    """The list, with its key shown."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "Choose", key_display="↵", tooltip="Watch the chosen model"),
    ]


class ModelScreen(Dialog[str]):
    """Returns the chosen name."""

    def __init__(self, models: tuple[tuple[str, str], ...]) -> None:
        super().__init__()
        self._models = models

    def title_text(self) -> str:
        """Return the title."""
        return "Choose a model of this router"

    def inside(self) -> Iterable[Widget]:
        """Make the list."""
        width = max((cell_len(_shown(name)) for name, _ in self._models), default=0)
        yield ModelList(*(Option(_line(name, state, width)) for name, state in self._models), compact=True)
        yield Static("A model that is not loaded is not loaded by looking at it.", markup=False, classes="hint gap")

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._models[event.option_index][0])


def _line(name: str, state: str, width: int) -> Content:
    style = "bold" if state == "loaded" else "dim"
    return Content.assemble(f"{pad(_shown(name), width)}  ", (plain(state, 40), style))


def _shown(name: str) -> str:
    """A name that fits the dialog; both its ends tell it from others."""
    return cut_middle(plain(name, 200), 50)
