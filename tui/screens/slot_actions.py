"""Asks what to do with a slot's cached tokens."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from msgspec import Struct
from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import Button, Input, Static

from slotview.engine.backend import Capabilities, SlotAction

from .dialog import Dialog

__all__ = ["ChosenAction", "SlotActionScreen"]


class ChosenAction(Struct, frozen=True):
    """What to do, and with which file on the server's side."""

    action: SlotAction
    filename: str | None = None


class SlotActionScreen(Dialog[ChosenAction]):
    """Offers to erase; also to save and restore, if the server keeps slot files."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "erase", "Erase", id="slot.erase", tooltip="Erase the slot's cached tokens"),
    ]

    def __init__(self, slot: int, can: Capabilities) -> None:
        super().__init__()
        self._slot = slot
        self._can = can

    def title_text(self) -> str:
        """Return the title."""
        return f"Cached tokens of slot {self._slot}"

    def inside(self) -> Iterable[Widget]:
        """Make the buttons and a field for the file name."""
        yield Static(
            "If the slot is busy, this waits in the queue until its request has ended.",
            markup=False,
            classes="hint",
        )
        buttons = [Button("Erase (e)", id="erase", variant="warning", compact=True)] if self._can.slot_actions else []
        if self._can.save_files:
            hint = "file name on the server, for save and restore"
            yield Input(placeholder=hint, id="filename", compact=True, classes="gap")
            buttons += [Button("Save", id="save", compact=True), Button("Restore", id="restore", compact=True)]
        yield Static("", id="error", markup=False, classes="error")
        yield Horizontal(*buttons, classes="buttons")

    def on_mount(self) -> None:
        """Focus a button rather than the field, so that keys are keys."""
        self.query(Button).first().focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer only what the server can do."""
        return self._can.slot_actions if action == "erase" else True

    @on(Button.Pressed, "#erase")
    def action_erase(self) -> None:
        """Forget the tokens."""
        self.dismiss(ChosenAction(SlotAction.ERASE))

    @on(Button.Pressed, "#save, #restore")
    def _file(self, event: Button.Pressed) -> None:
        name = self.query_one("#filename", Input).value.strip()
        if not name or "/" in name or "\\" in name or name.startswith("."):
            self.query_one("#error", Static).update("file: a plain name is needed, for example slot0.bin")
            return
        self.dismiss(ChosenAction(SlotAction(str(event.button.id)), name))
