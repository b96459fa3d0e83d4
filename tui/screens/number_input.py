"""An input for a number: other keys than its own stay keys of the screen."""

from __future__ import annotations

from textual.events import Key
from textual.widgets import Input

__all__ = ["NumberInput"]


class NumberInput(Input):
    """Takes digits, "-" and, with ``decimals``, a point; a letter goes on to the screen's keys. ``name`` is its id."""

    def __init__(self, name: str, value: str = "", *, placeholder: str = "", decimals: bool = False) -> None:
        super().__init__(value, placeholder=placeholder, id=name, compact=True, select_on_focus=True)
        self._own = "0123456789-" + ("." if decimals else "")

    def on_key(self, event: Key) -> None:
        """Keep the input from swallowing what is not part of a number."""
        if event.is_printable and not self.check_consume_key(event.key, event.character):
            event.prevent_default()

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """Whether a key is typed text here, so that the footer shows the others as keys."""
        return character is not None and character in self._own
