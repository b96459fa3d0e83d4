"""An input for a number; keys that are no part of one remain keys of the screen."""

from __future__ import annotations

from textual.events import Key
from textual.widgets import Input

__all__ = ["NumberInput"]


class NumberInput(Input):
    """Takes digits, "-" and, with ``decimals``, a point; other keys go to the screen. ``name`` is its id."""

    def __init__(self, name: str, value: str = "", *, placeholder: str = "", decimals: bool = False) -> None:
        super().__init__(value, placeholder=placeholder, id=name, compact=True, select_on_focus=True)
        self._own = "0123456789-" + ("." if decimals else "")

    def on_key(self, event: Key) -> None:
        """Do not swallow keys that are no part of a number."""
        if event.is_printable and not self.check_consume_key(event.key, event.character):
            event.prevent_default()

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """Whether a key is typed text here; the key line shows the others."""
        return character is not None and character in self._own
