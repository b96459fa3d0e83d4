"""Asks what to send, and how many at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Grid, Horizontal
from textual.widget import Widget
from textual.widgets import Button, Checkbox, Input, Label, Static

from slotview.engine.snapshot import SlotView

from .dialog import Dialog
from .fields import NumberInput, PromptInput, Tick
from .fire_form import PRESETS, FireForm, FormError, expand

__all__ = ["FireForm", "FireScreen"]

_FIELDS = (
    ("count", "at once", "1 to 256"),
    ("n_predict", "n_predict", "server's"),
    ("temperature", "temperature", "server's"),
    ("seed", "seed", "random"),
    ("id_slot", "slot", "any"),
)


class FireScreen(Dialog[FireForm]):
    """Returns the form; Enter in any field sends it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "send", "Send", id="fire.send", tooltip="Send the prompts; Enter in a field does too"),
        Binding("enter", "send", "Send", show=False),
    ]
    DEFAULT_CSS = """
    FireScreen {
        #what { min-height: 2; }
        .fields { grid-size: 4; grid-columns: 11 1fr 11 1fr; grid-rows: 1; grid-gutter: 0 1; }
        .fields, .presets { height: auto; margin-top: 1; }
        .fields Checkbox { border: none; padding: 0; background: transparent; column-span: 2; }
        .presets Button { background: $foreground 10%; }
    }
    """

    def __init__(self, last: FireForm | None, slots: Sequence[SlotView] | None) -> None:
        super().__init__()
        self._first = last or PRESETS[0][1]
        self._slots = slots

    def title_text(self) -> str:
        """Return the title."""
        return "Fire prompts"

    def inside(self) -> Iterable[Widget]:
        """Make the fields, the examples and the buttons."""
        yield PromptInput(self._first.text, id="text", placeholder="prompt", compact=True)
        yield Static("", id="what", markup=False, classes="hint")
        yield Grid(*self._fields(), classes="fields")
        yield Horizontal(
            *(Button(title, id=f"preset-{index}", compact=True) for index, (title, _) in enumerate(PRESETS)),
            classes="presets",
        )
        yield Static("", id="error", markup=False, classes="error")
        yield Button("Send (Enter)", variant="primary", id="send", compact=True)

    def _fields(self) -> Iterable[Widget]:
        for name, label, hint in _FIELDS:
            yield Label(label)
            value = getattr(self._first, name)
            yield NumberInput(name, value, placeholder=hint, decimals=name == "temperature")
        yield Tick("ignore end of text", self._first.ignore_eos, id="ignore_eos")

    def form(self) -> FireForm:
        """Read the fields."""
        values = {name: self.query_one(f"#{name}", Input).value for name, _, _ in _FIELDS}
        text = self.query_one("#text", Input).value
        return FireForm(text, ignore_eos=self.query_one(Checkbox).value, **values)

    @on(Input.Changed)
    @on(Checkbox.Changed)
    def _check(self) -> None:
        """Show what is wrong, or what would be sent."""
        form = self.form()
        error = ""
        try:
            form.check(self._slots)
        except FormError as wrong:
            error = str(wrong)
        self.query_one("#error", Static).update(error)
        self.query_one("#what", Static).update((error and _RULES) or _preview(form))

    @on(Input.Submitted)
    @on(Button.Pressed, "#send")
    def action_send(self) -> None:
        """Send, or go to the first field that is wrong."""
        form = self.form()
        try:
            form.check(self._slots)
        except FormError as wrong:
            self.query_one("#error", Static).update(str(wrong))
            self.query_one(f"#{wrong.field}").focus()
            return
        self.dismiss(form)

    @on(Button.Pressed, ".presets Button")
    def _take_preset(self, event: Button.Pressed) -> None:
        form = PRESETS[int(str(event.button.id).removeprefix("preset-"))][1]
        self.query_one("#text", Input).value = form.text
        for name, _, _ in _FIELDS:
            self.query_one(f"#{name}", Input).value = getattr(form, name)
        self.query_one(Checkbox).value = form.ignore_eos
        self.query_one("#send").focus()  # Enter sends, there as in the fields


_RULES = r"{a|b} takes a for the first prompt and b for the second, {n} counts, \n is a new line"


def _preview(form: FireForm) -> str:
    prompts = expand(form.text, int(form.count))
    if len(set(prompts)) == 1:
        return f"{len(prompts)} × the same prompt; {_RULES}" if len(prompts) > 1 else _RULES
    shown = ", ".join(repr(prompt[:28]) for prompt in prompts[:2])
    return f"{len(prompts)} prompts: {shown} …"
