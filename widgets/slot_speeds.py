"""The busy slots' own speeds: a few cells for each, in lines below a chart."""

from __future__ import annotations

from math import ceil

from slotview.engine.observe.observation import Observation
from slotview.engine.snapshot import SlotState

from .base.line import Line, join, pad
from .chart import nice_top, sparkline
from .look import Look
from .numbers import rate
from .series import Series

__all__ = ["SlotSpeeds"]

_LABEL = "by slot: "
_SPARK = 6
_RATE = 5
_WIDTH = 3 + 1 + _SPARK + 1 + _RATE + 2
"""Cells of a slot: its id, its last minutes, its speed now, and a gap."""


class SlotSpeeds:
    """Present speeds with the last minutes. There are lines for all slots, so that a chart above keeps its size."""

    def __init__(self) -> None:
        self._series: dict[int, Series] = {}

    def draw(self, look: Look, width: int, most: int) -> list[Line]:
        """Draw at most ``most`` lines, none while no slot is busy; slots there is no room for are counted."""
        slots = look.snapshot.slots or ()
        busy = [slot for slot in slots if slot.is_busy]
        if not busy:
            return []
        in_a_line = max(1, (width - len(_LABEL)) // _WIDTH)
        n_lines = min(most, ceil(len(slots) / in_a_line))
        shown = busy[: _n_shown(len(busy), in_a_line, n_lines, width)]
        digits = len(str(slots[-1].id))
        cells = [self._cells(look, slot.id, slot.state, digits) for slot in shown]
        lines = [join(cells[first : first + in_a_line], "") for first in range(0, n_lines * in_a_line, in_a_line)]
        if len(shown) < len(busy):
            lines[-1] = (*lines[-1], (_more(len(busy) - len(shown)), "dim"))
        return [((_LABEL if number == 0 else " " * len(_LABEL), "dim"), *line) for number, line in enumerate(lines)]

    def _cells(self, look: Look, slot: int, state: SlotState, digits: int) -> Line:
        series = self._series.setdefault(slot, Series(lambda point: point.slot_rate(slot)))
        values = [column.value for column in series.columns(look.observation.history, look.snapshot.time, _SPARK)]
        spark = sparkline(values, nice_top(max((value or 0 for value in values), default=0)))
        tone, now = _now(look.observation, slot, state)
        return ((f"{slot:>{digits}} ", "dim"), (spark, "generating"), (f" {pad(rate(now), _RATE, right=True)}  ", tone))


def _n_shown(n_busy: int, in_a_line: int, n_lines: int, width: int) -> int:
    """How many busy slots there is room for, with the number of the others in the last line."""
    n_places = in_a_line * n_lines
    if n_busy <= n_places:
        return n_busy
    is_room = len(_LABEL) + in_a_line * _WIDTH + len(_more(n_busy)) <= width
    return n_places if is_room else max(1, n_places - 1)


def _more(number: int) -> str:
    return f"and {number} more"


def _now(observation: Observation, slot: int, state: SlotState) -> tuple[str, float | None]:
    known = observation.rates.get(slot)
    if known is None:
        return "dim", None
    return ("prompt", known.prompt) if state is SlotState.PROMPT else ("generating", known.generation)
