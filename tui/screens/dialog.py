"""Base of the dialogs: a box with a title over the screen; Escape closes it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, TypeVar

from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widget import Widget

from ..key_line import KeyLine

__all__ = ["Dialog"]

AnswerT = TypeVar("AnswerT")


class Dialog(ModalScreen[AnswerT | None]):
    """Subclasses provide the title and the widgets inside; None is the answer if the dialog is left."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Back", id="dialog.leave", tooltip="Close without doing anything"),
        Binding("q", "leave_if_ready", "Back", show=False),
        Binding("ctrl+z", "app.suspend_process", "Suspend", show=False),  # a modal screen hides the app's keys
        # Of priority, so that what is typed ahead of a slow line gets into the next field.
        Binding("tab", "app.focus_next", "Next", show=False, priority=True),
        Binding("shift+tab", "app.focus_previous", "Previous", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    Dialog {
        align: center middle;
        & > .box {
            width: 76; max-width: 96%; height: auto; max-height: 92%;
            padding: 0 1; background: $surface;
            border: round $primary; border-title-color: $text-primary; border-title-style: bold;
        }
        &.-large > .box { width: 96%; height: 90%; }
        .error { color: $text-error; height: auto; }
        .hint { color: $foreground 70%; height: auto; }
        .gap { margin-top: 1; }
        .buttons { height: auto; margin-top: 1; }
        Button { margin-right: 2; min-width: 8; }
        Input { background: $foreground 8%; }
        RadioSet:blur RadioButton.-selected > .toggle--label { background: transparent; }
        Checkbox, RadioSet RadioButton {
            &, &.-on, &:ansi, &:ansi.-on { & > .toggle--button { background: transparent; text-style: none; } }
            & > .toggle--button { color: $foreground 80%; }
            &.-on > .toggle--button { color: $text-success; }
        }
    }
    """

    def title_text(self) -> str:
        """Return the title, plain text."""
        raise NotImplementedError

    def inside(self) -> Iterable[Widget]:
        """Make the widgets of the box."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        """Make the box and the line of keys."""
        box = VerticalScroll(*self.inside(), classes="box", can_focus=self.has_class("-large"))
        box.border_title = self.title_text().replace("[", r"\[")
        yield box
        yield KeyLine()

    def dismiss(self, result: AnswerT | None = None) -> AwaitComplete:
        """Close with an answer, once: a key held down answers again before the screen below has taken over."""
        return super().dismiss(result) if self.app.screen is self else AwaitComplete()

    def action_leave_if_ready(self) -> None:
        """Go back, but not for a letter typed ahead of the field that it is meant for."""
        if self.focused is not None:
            self.action_leave()

    def action_leave(self) -> None:
        """Go back."""
        self.dismiss(None)
