"""The columns of the slot table: what each says of a slot, and which of them a width has room for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from slotview.engine.observe.observation import SlotRate
from slotview.engine.plain import plain
from slotview.engine.snapshot import SlotState, SlotView

from .bar import bar
from .line import Line, Span, pad
from .numbers import UNKNOWN, count, duration, percent, rate

__all__ = ["Layout", "SlotRow", "lay_out"]

_GLYPHS = {
    SlotState.UNUSED: ("·", "faint"),
    SlotState.IDLE: ("○", "dim"),
    SlotState.PROMPT: ("◐", "prompt"),
    SlotState.GENERATING: ("●", "generating"),
    SlotState.BUSY: ("●", "waiting"),
}
_MAX_BAR = 28
_NOTHING: Line = ((UNKNOWN, "faint"),)


class SlotRow(NamedTuple):
    """All that a row shows."""

    slot: SlotView
    rate: SlotRate | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column; the one with the highest ``rank`` goes first where there is no room."""

    title: str
    width: int
    rank: int
    cell: Callable[[SlotRow, int], Line]
    right: bool = True


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns a width has room for, with the gap between them."""

    columns: tuple[Column, ...]
    gap: int

    def head(self) -> Line:
        """The columns' names."""
        titles = (pad(column.title, column.width, column.right) for column in self.columns)
        return (((" " * self.gap).join(titles), "heading"),)

    def row(self, row: SlotRow) -> Line:
        """One slot's cells."""
        spans: list[Span] = []
        for column in self.columns:
            if spans:
                spans.append((" " * self.gap, ""))
            spans += _fitted(column, row)
        return tuple(spans)


def lay_out(width: int, slots: Sequence[SlotView]) -> Layout:
    """Choose the columns for ``width`` cells; what is left over goes into the gaps, then into the bar."""
    columns = list(_columns(slots))
    while len(columns) > 2 and _needed(columns, 1) > width:
        columns.remove(max(columns, key=lambda column: column.rank))
    gap = next((gap for gap in (4, 3, 2) if _needed(columns, gap) + 6 * gap <= width), 1)
    spare = max(0, width - _needed(columns, gap))
    shown = (replace(c, width=min(_MAX_BAR, c.width + spare)) if c.cell is _bar_cell else c for c in columns)
    return Layout(tuple(shown), gap)


def _columns(slots: Sequence[SlotView]) -> Sequence[Column]:
    largest = max((slot.n_ctx or 0 for slot in slots), default=0)
    digits = max(len(count(largest)), 3)
    columns = [
        Column("slot", 4, 0, _id_cell),
        Column("state", 14, 1, _state_cell, right=False),
        Column("task", 6, 7, _task_cell),
        Column("", 4, 6, _bar_cell, right=False),
        Column("context", max(7, 2 * digits + 1), 2, _context_cell),
        Column("decoded", 7, 5, _decoded_cell),
        Column("remain", 8, 8, _remain_cell),
        Column("tok/s", 6, 3, _rate_cell),
        Column("cached", 7, 9, _cached_cell),
    ]
    return columns if largest else [column for column in columns if column.cell is not _bar_cell]


def _needed(columns: Sequence[Column], gap: int) -> int:
    return sum(column.width for column in columns) + gap * (len(columns) - 1)


def _fitted(column: Column, row: SlotRow) -> Line:
    cell = column.cell(row, column.width)
    if len(cell) > 1:
        return cell
    return ((pad(cell[0][0], column.width, column.right), cell[0][1]),)


def _says(text: str, tone: str = "") -> Line:
    return ((text, tone),)


def _id_cell(row: SlotRow, width: int) -> Line:
    return _says(str(row.slot.id), "strong")


def _state_cell(row: SlotRow, width: int) -> Line:
    slot = row.slot
    if row.rate is not None and row.rate.stalled_for is not None:
        return _says(f"! stalled {duration(row.rate.stalled_for)}", "error")
    glyph, tone = _GLYPHS[slot.state]
    word = plain(slot.state_word, width) if slot.state_word else slot.state.value
    if slot.state is SlotState.PROMPT and slot.n_prompt and slot.n_tokens is not None:
        word = f"{word} {percent(min(slot.n_tokens, slot.n_prompt), slot.n_prompt)}"
    return _says(f"{glyph} {word}", tone)


def _task_cell(row: SlotRow, width: int) -> Line:
    return _says(UNKNOWN if row.slot.task is None else str(row.slot.task), "" if row.slot.is_busy else "dim")


def _bar_cell(row: SlotRow, width: int) -> Line:
    slot = row.slot
    if not slot.n_ctx or slot.n_tokens is None:
        return _says("")
    return bar(slot.n_tokens / slot.n_ctx, width, _context_tone(slot))


def _context_cell(row: SlotRow, width: int) -> Line:
    slot = row.slot
    if slot.n_ctx is None:
        return _says(count(slot.n_tokens, width))
    limit = count(slot.n_ctx)
    return _says(f"{count(slot.n_tokens, width - len(limit) - 1)}/{limit}", "" if slot.is_busy else "dim")


def _context_tone(slot: SlotView) -> str:
    if not slot.is_busy:
        return "cached"
    return "prompt" if slot.state is SlotState.PROMPT else "generating"


def _decoded_cell(row: SlotRow, width: int) -> Line:
    return _says(count(row.slot.n_decoded, width)) if row.slot.is_busy else _NOTHING


def _remain_cell(row: SlotRow, width: int) -> Line:
    if not row.slot.is_busy:
        return _NOTHING
    return _says("no limit", "dim") if row.slot.unlimited else _says(count(row.slot.n_remain, width))


def _rate_cell(row: SlotRow, width: int) -> Line:
    if row.rate is None or not row.slot.is_busy:
        return _NOTHING
    if row.slot.state is SlotState.PROMPT:
        return _says(rate(row.rate.prompt), "prompt")
    return _says(rate(row.rate.generation), "generating")


def _cached_cell(row: SlotRow, width: int) -> Line:
    """Tokens the task found in the slot; in an idle slot those kept there, and 0 does not say that none are kept."""
    if row.slot.is_busy:
        return _says(count(row.slot.n_prompt_cached, width), "cached")
    return _says(count(row.slot.n_tokens, width), "cached") if row.slot.n_tokens else _NOTHING
