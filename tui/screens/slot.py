"""One slot: its parameters, its timings, its text so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from msgspec.structs import replace
from textual import work
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from slotview.engine.backend import BackendError
from slotview.engine.snapshot import SlotDetails, SlotView
from slotview.engine.text.plain import plain
from slotview.widgets.numbers import UNKNOWN, count

from ..feed import Feed
from ..outcome import outcome
from .dialog import Dialog

__all__ = ["SlotScreen"]

_EVERY = 1.0
_LONGEST = 500
_RANDOM_SEED = 2**32 - 1
_NUMBERED = ("seed", "task", "id_slot")
"""Identifiers, not amounts: their digits are not grouped."""
_TEXT_LIMIT = 20_000


class SlotScreen(Dialog[None]):
    """Asks for the details every second, unless an answer is still due."""

    DEFAULT_CLASSES = "-large"
    DEFAULT_CSS = """
    SlotScreen Static { height: auto; margin-bottom: 1; }
    """
    PARTS: ClassVar[tuple[str, ...]] = ("now", "timings", "texts", "params")

    def __init__(self, feed: Feed, slot: int) -> None:
        super().__init__()
        self._feed = feed
        self._slot = slot
        self._asking = False

    def title_text(self) -> str:
        """Return the title."""
        return f"Slot {self._slot}"

    def inside(self) -> Iterable[Widget]:
        """Make the parts."""
        yield Static("asking …", id="now", markup=False)
        for part in self.PARTS[1:]:
            yield Static("", id=part, markup=False)

    def on_mount(self) -> None:
        """Ask now, and again every second."""
        self.query_one("#now", Static).update(self._now())
        self.ask()
        self.set_interval(_EVERY, self.ask)

    def ask(self) -> None:
        """Ask, unless an answer is still due."""
        if not self._asking:
            self._asking = True
            self._fetch()

    @work
    async def _fetch(self) -> None:
        try:
            details = await outcome(lambda: self._feed.backend.details(self._slot))
        except BackendError as error:
            self.query_one("#now", Static).update(self._now())
            self.query_one("#texts", Static).update(plain(str(error)))
        else:
            self.show_details(details)
        finally:
            self._asking = False

    def _now(self, told: SlotView | None = None) -> Content:
        """The slot as told together with its details, else as the dashboard shows it."""
        slots = self._feed.look.snapshot.slots or ()
        slot = told or next((slot for slot in slots if slot.id == self._slot), None)
        return Content("this slot is gone") if slot is None else table(_facts(slot))

    def show_details(self, details: SlotDetails) -> None:
        """Draw an answer."""
        timings, params = _titled("timings", details.timings), _titled("parameters", details.params)
        parts = (self._now(details.view), timings, _texts(details), params)
        with self.app.batch_update():
            for name, part in zip(self.PARTS, parts, strict=True):
                widget = self.query_one(f"#{name}", Static)
                widget.update(part)
                widget.display = bool(part)


def _facts(slot: SlotView) -> Mapping[str, object]:
    """What is known of the slot; an idle one has no running task, and the zeros that are reported for it mean none."""
    if not slot.is_busy:
        slot = replace(slot, n_prompt_processed=None, n_prompt_cached=None, n_decoded=None)
    limit = "no limit" if slot.unlimited else slot.n_remain
    return {
        "state": slot.state_word or slot.state.value,
        "task": slot.task,
        "tokens held": slot.n_tokens,
        "of n_ctx": slot.n_ctx,
        "prompt": slot.n_prompt,
        "processed": slot.n_prompt_processed,
        "from cache": slot.n_prompt_cached,
        "decoded": slot.n_decoded,
        "remain": limit,
        "truncated": slot.truncated,
    }


def _titled(title: str, values: Mapping[str, object]) -> Content:
    return Content.assemble((title, "bold"), "\n", table(values)) if values else Content("")


def table(values: Mapping[str, object], width: int = 74) -> Content:
    """Lay names and values out in two columns, long ones in a line of their own; what is not known is a dash."""
    rows: list[Content] = []
    is_open = False  # whether the last row has room for one more
    for name, value in values.items():
        cell, is_long = _cell(name, value, width // 2)
        if is_open and not is_long:
            rows[-1] = rows[-1] + cell
        else:
            rows.append(cell)
        is_open = not is_open and not is_long
    return Content("\n").join(rows)


def _cell(name: str, value: object, width: int) -> tuple[Content, bool]:
    """One name with its value, and whether they are wider than a column."""
    label, text = plain(name, 22), _numbered(value) if name in _NUMBERED and value is not None else _value(value)
    room = width - 23
    shown = Content.assemble((f"{label:<22} ", "$foreground 70%"), text)
    return (shown, True) if len(text) > room else (shown.pad_right(room - len(text)), False)


def _numbered(value: object) -> str:
    return "random (-1)" if value == _RANDOM_SEED else str(value)


def _value(value: object) -> str:
    if value is None:
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return count(value)
    if isinstance(value, float):
        return count(value) if abs(value) >= 1000 else f"{value:.4g}"
    if isinstance(value, Mapping):
        value = [f"{name}: {item}" for name, item in value.items()]
    if isinstance(value, list | tuple):
        return plain(", ".join(str(item) for item in value), _LONGEST) or "none"
    return plain(str(value), _LONGEST)


def _texts(details: SlotDetails) -> Content:
    parts: list[Content] = []
    for label, text in (("prompt", details.prompt), ("answer so far", details.generated)):
        if text is not None:
            shown = plain(text, _TEXT_LIMIT, keep_newlines=True)
            parts.append(Content.assemble((label, "bold"), "\n", shown or "(empty)"))
    if details.note:
        parts.append(Content.styled(plain(details.note), "$foreground 70%"))
    return Content("\n\n").join(parts)
