"""The slots, a row for each."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.reactive import reactive

from slotview.engine.observe.continuity import is_current
from slotview.engine.observe.meaning import slots_unknown
from slotview.engine.snapshot import Snapshot
from slotview.engine.text.plain import plain

from .base.column_table import ColumnTable
from .base.columns import Column
from .base.title import set_title
from .look import NO_LOOK, Look
from .numbers import count
from .slot_columns import SlotRow, slot_columns

__all__ = ["SlotTable"]

_TEXT_LIMIT = 200


class SlotTable(ColumnTable[SlotRow]):
    """State, task, context, counts and speed of every slot, 1 to 256 of them."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "b",
            "toggle_busy_first",
            "Busy first",
            id="slots.busy_first",
            show=False,
            tooltip="Show busy slots at the top, or sort by number",
        ),
    ]
    DEFAULT_CSS = """
    SlotTable { height: 1fr; min-height: 3; }
    """

    busy_first: reactive[bool] = reactive(False, init=False)
    """Whether busy slots stand above the others."""

    @dataclass
    class Highlighted(Message):
        """Another slot is chosen."""

        slot: int

    @dataclass
    class Opened(Message):
        """Show a slot's details."""

        slot: int

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id, classes=classes)
        self.border_title = "Slots"
        self._look = NO_LOOK

    def watch_busy_first(self) -> None:
        """Sort again, and show the busy ones, or else the chosen one."""
        self.show(self._look)
        if self.busy_first:
            self.scroll_to(y=0, animate=False)
        else:
            self._scroll_to_cursor()

    def action_toggle_busy_first(self) -> None:
        """Sort busy slots to the top, or by number again."""
        self.busy_first = not self.busy_first

    def all_columns(self) -> Sequence[Column[SlotRow]]:
        """Columns wide enough for the largest context."""
        return slot_columns(self._look.snapshot.slots or ())

    def draw_empty(self) -> str:
        """Say why no slot is shown."""
        return _why_empty(self._look.snapshot)

    def key_of(self, row: SlotRow) -> Hashable:
        """A slot is identified by its id."""
        return row.slot.id

    def highlighted(self, row: SlotRow) -> None:
        """Announce which slot is chosen now."""
        self.post_message(self.Highlighted(row.slot.id))

    def opened(self, row: SlotRow) -> None:
        """Ask for the slot's details."""
        self.post_message(self.Opened(row.slot.id))

    def show(self, look: Look) -> None:
        """Draw the slots of a look."""
        before, self._look = self._look, look
        self.set_class(not look.snapshot.health.is_live, "-stale")
        self._set_title()
        if before.snapshot.slots != look.snapshot.slots:
            self.forget_columns()
        self.set_rows(self._sorted(look))

    def on_resize(self) -> None:
        """There may be room for all slots now, or no longer."""
        self._set_title()

    def _set_title(self) -> None:
        """Say how many are busy and how they are sorted, or how else they could be if busy ones may be out of view."""
        snapshot = self._look.snapshot
        n_slots = len(snapshot.slots or ())
        may_hide = n_slots > self._page and 0 < (snapshot.busy or 0) < n_slots
        order = " · busy first" if self.busy_first else " · b: busy first" if may_hide else ""
        set_title(self, _title(snapshot) + order)

    def _sorted(self, look: Look) -> list[SlotRow]:
        rate_of = look.observation.rates.get
        rows = [SlotRow(slot, rate_of(slot.id)) for slot in look.snapshot.slots or ()]
        if self.busy_first:
            rows.sort(key=lambda row: not row.slot.is_busy)
        return rows


def _title(snapshot: Snapshot) -> str:
    if not snapshot.slots:
        return "Slots"
    busy = "busy" if is_current(snapshot) else "were busy"
    return f"Slots: {count(snapshot.busy)} of {len(snapshot.slots)} {busy}"


def _why_empty(snapshot: Snapshot) -> str:
    return plain(slots_unknown(snapshot), _TEXT_LIMIT) if snapshot.slots is None else "no slots"
