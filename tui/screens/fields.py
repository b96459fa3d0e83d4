"""Fields of the dialogs: inputs for numbers and prompts, and toggles that do not rely on colour."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.events import Key, Paste
from textual.widgets import Checkbox, Input, RadioButton, RadioSet
from textual.widgets._toggle_button import ToggleButton

__all__ = ["Choice", "Choices", "NumberInput", "PromptInput", "Tick"]


_EDITING = {
    key: binding.action
    for binding in Input.BINDINGS
    if isinstance(binding, Binding) and binding.action != "submit"
    for key in binding.key.split(",")
}
"""What Textual's keys for editing do."""


class _OrderedInput(Input):
    """Edits in the order of the keys: where several come in one go, Textual lets letters overtake a backspace."""

    async def on_key(self, event: Key) -> None:
        """Do at once what Textual does only after the key has bubbled up to the app."""
        if event.key in _EDITING:
            event.stop()
            event.prevent_default()
            await self.run_action(_EDITING[event.key])


class NumberInput(_OrderedInput):
    """Takes digits, "-" and, with ``decimals``, a point; other keys go to the screen. ``name`` is its id."""

    def __init__(self, name: str, value: str = "", *, placeholder: str = "", decimals: bool = False) -> None:
        super().__init__(value, placeholder=placeholder, id=name, compact=True, select_on_focus=True)
        self._own = "0123456789-" + ("." if decimals else "")

    async def on_key(self, event: Key) -> None:
        """Do not swallow keys that are no part of a number."""
        if event.is_printable and not self.check_consume_key(event.key, event.character):
            event.prevent_default()

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """Whether a key is typed text here; the key line shows the others."""
        return character is not None and character in self._own


class PromptInput(_OrderedInput):
    r"""One line on the screen; pasted line breaks become "\n", whereas Textual would keep only the first line."""

    def _on_paste(self, event: Paste) -> None:
        event.stop()
        event.prevent_default()
        self.replace(r"\n".join(event.text.splitlines()), *self.selection)

    def action_paste(self) -> None:
        """Paste what was copied inside the app."""
        self.post_message(Paste(self.app.clipboard))


class _Sign(ToggleButton):
    """Draws its button with signs alone: the shade of Textual's box is lost where there are few colours."""

    @property
    def _button(self) -> Content:
        return Content.styled(
            f"{self.BUTTON_LEFT}{self.BUTTON_INNER}{self.BUTTON_RIGHT}", self.get_visual_style("toggle--button")
        )


class Tick(Checkbox, _Sign, inherit_bindings=False):
    """A box with or without a cross. Enter is left to the dialog."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("space", "toggle_button", "Tick", show=False)]
    BUTTON_LEFT, BUTTON_RIGHT = "[", "]"

    def __init__(self, label: str, value: bool, *, id: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(label, value, id=id, compact=True)
        self.BUTTON_INNER = "X" if value else " "

    def watch_value(self) -> None:
        """Draw or remove the cross."""
        self.BUTTON_INNER = "X" if self.value else " "
        super().watch_value()


class Choice(RadioButton, _Sign):
    """A circle, filled if it is the chosen one."""

    BUTTON_LEFT, BUTTON_RIGHT = "(", ")"

    def __init__(self, label: str, value: bool) -> None:
        super().__init__(label, value, compact=True)
        self.BUTTON_INNER = "●" if value else "○"

    def watch_value(self) -> None:
        """Fill the circle, or empty it."""
        self.BUTTON_INNER = "●" if self.value else "○"
        super().watch_value()


class Choices(RadioSet, inherit_bindings=False):
    """Choices; the arrow keys choose the next one at once. Enter is left to the dialog."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,right", "move(1)", "Next", show=False),
        Binding("up,left", "move(-1)", "Previous", show=False),
    ]

    def on_mount(self) -> None:
        """Put the cursor on the chosen one; Textual would put it on the first."""
        self.call_after_refresh(lambda: self.take(max(0, self.pressed_index)))

    def action_move(self, step: int) -> None:
        """Choose the one that is ``step`` further down, wrapping around."""
        self.take((self.pressed_index + step) % len(self.query(Choice)))

    def take(self, index: int) -> None:
        """Choose one by its index."""
        self._selected = index
        self.query(Choice)[index].value = True
