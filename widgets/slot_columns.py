"""The columns of the slot table: what each shows of a slot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from slotview.engine.observe.meaning import prefill_share
from slotview.engine.observe.observation import SlotRate
from slotview.engine.snapshot import SlotState, SlotView
from slotview.engine.text.plain import plain

from .base.bar import bar
from .base.columns import NOTHING, Column, says
from .base.line import Line
from .numbers import coarse, count, percent, rate

__all__ = ["SlotRow", "slot_columns"]

_GLYPHS = {
    SlotState.UNUSED: ("·", "faint"),
    SlotState.IDLE: ("○", "dim"),
    SlotState.PROMPT: ("◐", "prompt"),
    SlotState.GENERATING: ("●", "generating"),
    SlotState.BUSY: ("●", "waiting"),
    SlotState.UNKNOWN: ("?", "dim"),
}
_MAX_BAR = 28


class SlotRow(NamedTuple):
    """Everything that a row shows."""

    slot: SlotView
    rate: SlotRate | None = None


def slot_columns(slots: Sequence[SlotView]) -> list[Column[SlotRow]]:
    """All columns, wide enough for the largest context; without a bar if no context is known."""
    largest = max((slot.n_ctx or 0 for slot in slots), default=0)
    digits = max(len(count(largest)), 3)
    columns: list[Column[SlotRow]] = [
        Column("slot", 4, 0, _id_cell),
        Column("state", 14, 1, _state_cell, right=False),
        Column("task", 6, 7, _task_cell),
        Column("", 3, 6, _bar_cell, right=False, widest=_MAX_BAR),
        Column("context", max(7, 2 * digits + 1), 2, _context_cell),
        Column("decoded", 7, 5, _decoded_cell),
        Column("remain", 8, 8, _remain_cell),
        Column("tok/s", 5, 3, _rate_cell),
        Column("cached", 6, 9, _cached_cell),
    ]
    return columns if largest else [column for column in columns if column.cell is not _bar_cell]


def _id_cell(row: SlotRow, width: int) -> Line:
    return says(str(row.slot.id), "strong")


def _state_cell(row: SlotRow, width: int) -> Line:
    slot = row.slot
    if row.rate is not None and row.rate.stalled_for is not None:
        return says(f"! stalled {coarse(row.rate.stalled_for)}", "error")
    glyph, tone = _GLYPHS[slot.state]
    word = plain(slot.state_word, width) if slot.state_word else slot.state.value
    share = prefill_share(slot) if slot.state is SlotState.PROMPT else None
    return says(f"{glyph} {word}" if share is None else f"{glyph} {word} {percent(share, 1)}", tone)


def _task_cell(row: SlotRow, width: int) -> Line:
    return NOTHING if row.slot.task is None else says(str(row.slot.task), "" if row.slot.is_busy else "dim")


def _bar_cell(row: SlotRow, width: int) -> Line:
    slot = row.slot
    if not slot.n_ctx or slot.n_tokens is None:
        return says("")
    tone = "cached" if not slot.is_busy else "prompt" if slot.state is SlotState.PROMPT else "generating"
    return bar(slot.n_tokens / slot.n_ctx, width, tone)


def _context_cell(row: SlotRow, width: int) -> Line:
    slot = row.slot
    tone = "" if slot.is_busy else "dim"
    if slot.n_ctx is None:
        return says(count(slot.n_tokens, width), tone)
    limit = count(slot.n_ctx)
    return says(f"{count(slot.n_tokens, width - len(limit) - 1)}/{limit}", tone)


def _decoded_cell(row: SlotRow, width: int) -> Line:
    return says(count(row.slot.n_decoded, width)) if row.slot.is_busy else NOTHING


def _remain_cell(row: SlotRow, width: int) -> Line:
    if not row.slot.is_busy:
        return NOTHING
    return says("no limit", "dim") if row.slot.unlimited else says(count(row.slot.n_remain, width))


def _rate_cell(row: SlotRow, width: int) -> Line:
    if row.rate is None or not row.slot.is_busy:
        return NOTHING
    in_prompt = row.slot.state is SlotState.PROMPT
    speed = row.rate.prompt if in_prompt else row.rate.generation
    text = rate(speed)
    return says(text if len(text) <= width else count(speed, width), "prompt" if in_prompt else "generating")


def _cached_cell(row: SlotRow, width: int) -> Line:
    """Tokens that the task reused; in an idle slot those kept there, unless that is 0, which proves nothing."""
    if row.slot.is_busy:
        return says(count(row.slot.n_prompt_cached, width), "cached")
    return says(count(row.slot.n_tokens, width), "cached") if row.slot.n_tokens else NOTHING
