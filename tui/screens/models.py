"""Lists a router's models, to choose one."""

from __future__ import annotations

from collections.abc import Iterable

from textual import on
from textual.content import Content
from textual.widget import Widget
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from slotview.engine.plain import plain

from .dialog import Dialog

__all__ = ["ModelScreen"]


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
        width = max((len(plain(name, 50)) for name, _ in self._models), default=0)
        yield OptionList(*(Option(_line(name, state, width)) for name, state in self._models), compact=True)
        yield Static("A model that is not loaded is not loaded by looking at it.", markup=False, classes="hint gap")

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._models[event.option_index][0])


def _line(name: str, state: str, width: int) -> Content:
    style = "$text-success" if state == "loaded" else "$foreground 60%"
    return Content.assemble(f"{plain(name, 50):<{width}}  ", (plain(state, 40), style))
