"""Asks for other launch flags, and shows what they would do before anything happens."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar, cast

from msgspec.structs import replace
from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Grid
from textual.widget import Widget
from textual.widgets import Button, Input, Label, RadioSet, Static

from slotview.engine.backend import Backend, RetuneMode, RetunePreview
from slotview.engine.context import LaunchFlags
from slotview.engine.snapshot import Snapshot
from slotview.widgets.numbers import count

from .dialog import Dialog
from .fields import Choice, Choices, NumberInput
from .retune_text import preview_text

if TYPE_CHECKING:
    from ..app import BaseApp

__all__ = ["RetuneScreen"]

MODES = ("split", "unified", "auto")
_LABELS = (
    "split: each slot has cells of its own",
    "unified: all slots share one pool (-kvu)",
    "auto: 4 slots share one pool (-np left out)",
)
_NUMBERS = (("parallel", "-np"), ("ctx", "-c"), ("per_slot", "per slot"))
_DO = {RetuneMode.LIVE: "Apply (Enter)", RetuneMode.RESTART: "Restart with these (Enter)"}


class RetuneScreen(Dialog[LaunchFlags]):
    """Returns the flags to apply; if they cannot be applied from here, it offers a command line to copy."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "apply", "Apply", id="retune.apply", tooltip="Change the flags; Enter in a field does too"),
        Binding("enter", "apply", "Apply", show=False),
        Binding("c", "copy", "Copy command", id="retune.copy", tooltip="Copy the command line to the clipboard"),
        Binding("u", "mode", "Split/unified", id="retune.mode", tooltip="Switch to the next KV mode"),
    ]
    DEFAULT_CSS = """
    RetuneScreen {
        & > .box { width: 100; }
        .fields { grid-size: 2; grid-columns: 14 1fr; grid-rows: 1 1 3 1; height: auto; }
        RadioSet { padding: 0; background: transparent; height: 3; }
        #preview { height: auto; margin-top: 1; }
        #apply { margin-top: 1; }
        &.-low #apply { margin-top: 0; }
        #command { border-left: outer $primary; padding: 0 1; height: auto; }
    }
    """

    def __init__(self, backend: Backend) -> None:
        super().__init__()
        self._backend = backend
        self._flags = known_flags(backend.flags, backend.latest())
        self._mode = backend.capabilities.retune
        self._preview: RetunePreview | None = None

    def title_text(self) -> str:
        """Return the title."""
        return "Retune: slots, context and KV mode"

    def inside(self) -> Iterable[Widget]:
        """Make the fields, the preview and the button."""
        flags = self._flags
        yield Grid(
            Label("-np  slots"),
            NumberInput("parallel", "" if flags.parallel < 0 else str(flags.parallel), placeholder="1 to 256"),
            Label("-c   context"),
            NumberInput("ctx", _text(flags.ctx_size), placeholder=_context_hint(self._backend.latest())),
            Label("KV mode"),
            Choices(
                *(Choice(text, name == mode_of(flags)) for name, text in zip(MODES, _LABELS, strict=True)), compact=True
            ),
            Label("per slot"),
            NumberInput("per_slot", _text(flags.kv_unified_per_slot or None), placeholder="limit of a unified slot"),
            classes="fields",
        )
        yield Static("", id="error", markup=False, classes="error")
        yield Static("", id="command", markup=False)
        yield Static("", id="preview", markup=False)
        if self._mode in _DO:
            yield Button(_DO[self._mode], variant="primary", id="apply", compact=True)

    def on_mount(self) -> None:
        """Show what the current flags amount to."""
        self.query_one("#parallel").focus()
        self._show()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer only what this backend can do."""
        if action == "apply":
            return self._mode in _DO
        return True

    def flags(self) -> LaunchFlags:
        """Read the fields."""
        mode = self._kv_mode
        parallel = _number(self.query_one("#parallel", Input).value)
        return replace(
            self._flags,
            parallel=-1 if mode == "auto" else 1 if parallel is None else parallel,
            kv_unified=mode == "unified",
            ctx_size=_number(self.query_one("#ctx", Input).value),
            kv_unified_per_slot=_number(self.query_one("#per_slot", Input).value) or 0,
        )

    @on(Input.Changed, "#parallel")
    def _leave_auto(self, message: Input.Changed) -> None:
        """Once there is a number of slots, it is not automatic: with -np alone, llama-server splits the pool."""
        if message.value and self._kv_mode == "auto":
            self._choose_mode("split")

    @on(RadioSet.Changed)
    def _fit_number(self) -> None:
        """Clear the number in automatic mode; any other mode starts with the current number."""
        field = self.query_one("#parallel", Input)
        if self._kv_mode == "auto":
            field.value = ""
        elif not field.value:
            field.value = _text(self._backend.latest().facts.n_slots)

    @property
    def _kv_mode(self) -> str:
        return MODES[max(0, self.query_one(RadioSet).pressed_index)]

    def _choose_mode(self, mode: str) -> None:
        self.query_one(Choices).take(MODES.index(mode))

    @on(Input.Changed)
    @on(RadioSet.Changed)
    def _show(self) -> None:
        preview = self._preview = self._previewed()
        now = self._backend.latest()
        self.query_one("#error", Static).update(preview.error or "")
        self.query_one("#preview", Static).update("" if preview.error else preview_text(preview, now))
        self._show_command(preview)

    def _previewed(self) -> RetunePreview:
        flags, problem = self.flags(), self._problem()
        return self._backend.preview(flags) if problem is None else RetunePreview(flags, error=problem)

    def _problem(self) -> str | None:
        """What is wrong with the numbers as typed. An empty number of slots does not mean one slot."""
        for name, label in _NUMBERS:
            text = self.query_one(f"#{name}", Input).value
            if text and _number(text) is None:
                return f"{label} {text}: a whole number is needed"
        if self._kv_mode != "auto" and not self.query_one("#parallel", Input).value:
            return "-np: how many slots? 1 to 256, or take auto"
        return None

    def _show_command(self, preview: RetunePreview) -> None:
        line = self.query_one("#command", Static)
        line.display = self._mode is not RetuneMode.LIVE and preview.command is not None and not preview.error
        line.update(preview.command or "")

    def action_mode(self) -> None:
        """Switch to the next KV mode."""
        self._choose_mode(MODES[(MODES.index(self._kv_mode) + 1) % len(MODES)])

    def action_copy(self) -> None:
        """Copy the command line."""
        if self._preview is None or self._preview.command is None or self._preview.error:
            self.app.notify("there is no command line to copy", severity="warning", markup=False)
            return
        app = cast("BaseApp[None]", self.app)
        app.copied_command = self._preview.command
        app.copy_to_clipboard(app.copied_command)
        app.notify("command line copied; it is printed again when slotview ends", markup=False)

    @on(Input.Submitted)
    @on(Button.Pressed, "#apply")
    def action_apply(self) -> None:
        """Apply the flags, if they can start."""
        preview = self._previewed()
        if preview.error:
            return
        if self._mode in _DO:
            self.dismiss(preview.flags)
        else:
            self.action_copy()


def _context_hint(snapshot: Snapshot) -> str:
    """What to type for -c; if it is not known, which sizes would explain what is."""
    now = " or ".join(count(cells) for cells in snapshot.pool.candidates)
    return f"of all slots{f', now {now}' if now else ''}; empty = the model's"


def known_flags(flags: LaunchFlags, snapshot: Snapshot) -> LaunchFlags:
    """Fill in flags that are unknown from what the snapshot shows."""
    facts = snapshot.facts
    if flags.parallel < 0 and facts.n_slots is not None and not facts.unified:
        flags = replace(flags, parallel=facts.n_slots)
    if flags.ctx_size is None and facts.n_ctx is not None:
        flags = replace(flags, ctx_size=facts.n_ctx)
    return flags


def mode_of(flags: LaunchFlags) -> str:
    """Name the KV mode the flags ask for."""
    return "auto" if flags.parallel < 0 else "unified" if flags.kv_unified else "split"


def _text(value: int | None) -> str:
    return "" if value is None else str(value)


def _number(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None
