"""Asks for permission, once per run, before anything is changed on a server elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import Button, Static

from slotview.engine.text.plain import plain

from .dialog import Dialog

__all__ = ["ConfirmScreen"]


class ConfirmScreen(Dialog[bool]):
    """Names the server and what is about to be done to it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "yes", "Yes", id="confirm.yes", tooltip="Do it, and do not ask again during this run"),
        Binding("n", "leave", "No", id="confirm.no", tooltip="Change nothing"),
    ]

    def __init__(self, doing: str, server: str) -> None:
        super().__init__()
        self._question = f"{doing[:1].upper()}{doing[1:]} {plain(server)}?"

    def title_text(self) -> str:
        """Return the title."""
        return "This changes a server elsewhere"

    def inside(self) -> Iterable[Widget]:
        """Make the question and its two answers."""
        yield Static(self._question, markup=False, id="question")
        yield Static("slotview only reads until you say yes. It asks once per run.", markup=False, classes="hint gap")
        yield Horizontal(
            Button("Yes (y)", variant="warning", id="yes", compact=True),
            Button("No (n)", id="no", compact=True),
            classes="buttons",
        )

    @on(Button.Pressed, "#yes")
    def action_yes(self) -> None:
        """Agree."""
        self.dismiss(True)

    @on(Button.Pressed, "#no")
    def _no(self) -> None:
        self.dismiss(None)
