"""Toggles that can be told apart without colours: an empty box is off."""

from __future__ import annotations

from textual.widgets import Checkbox, RadioButton

__all__ = ["Choice", "Tick"]


class Tick(Checkbox):
    """A box with a cross, or without one."""

    def __init__(self, label: str, value: bool, *, id: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(label, value, id=id, compact=True)
        self.BUTTON_INNER = "X" if value else " "

    def watch_value(self) -> None:
        """Draw the cross or none."""
        self.BUTTON_INNER = "X" if self.value else " "
        super().watch_value()


class Choice(RadioButton):
    """A circle that is full where it is the one taken."""

    def __init__(self, label: str, value: bool) -> None:
        super().__init__(label, value, compact=True)
        self.BUTTON_INNER = "●" if value else "○"

    def watch_value(self) -> None:
        """Fill the circle, or empty it."""
        self.BUTTON_INNER = "●" if self.value else "○"
        super().watch_value()
