"""Tokens per second: generation and prompts of all slots together over time, and each slot's own."""

from __future__ import annotations

from slotview.engine.observe.observation import Observation, Point
from slotview.engine.snapshot import SlotState

from .chart import Chart, nice_top, sparkline
from .line import Line, line_width
from .look import Look
from .numbers import rate
from .panel import LinePanel
from .series import Series

__all__ = ["SpeedChart"]

_CHART_ROWS = 6
_SIDE_BY_SIDE = 72
_SPARK = 10
_SLOT_WIDTH = _SPARK + 13


class SpeedChart(LinePanel):
    """Two charts with a scale each, since prompts run a hundred times as fast, and a line of busy slots."""

    BORDER_TITLE = "Tokens per second"

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id, classes=classes)
        self._generation = Chart(lambda point: point.generation_rate, "generating", area=False)
        self._prompts = Chart(lambda point: point.prompt_rate, "prompt", area=False)
        self._slots: dict[int, Series] = {}

    def draw(self, look: Look, width: int, height: int | None) -> list[Line]:
        """Make charts side by side or one above the other, and the slots below."""
        slots = self._slots_line(look, width)
        if width >= _SIDE_BY_SIDE:
            rows = _CHART_ROWS if height is None else height - len(slots)
            return [*self._beside(look, width, max(2, rows)), *slots][:height]
        rows = 2 * _CHART_ROWS if height is None else height - len(slots)
        half = max(2, rows // 2)
        upper, lower = self._draw_generation(look, width, max(2, rows - half)), self._draw_prompts(look, width, half)
        return [*upper, *lower, *slots][:height]

    def _beside(self, look: Look, width: int, rows: int) -> list[Line]:
        room = (width - 2) // 2
        pairs = zip(self._draw_generation(look, room, rows), self._draw_prompts(look, room, rows), strict=True)
        return [(*left, (" " * (room + 2 - line_width(left)), ""), *right) for left, right in pairs]

    def _draw_generation(self, look: Look, width: int, rows: int) -> list[Line]:
        title = _title("generating", "generation", look.observation.generation_rate)
        return [title, *self._generation.draw(look.observation.history, look.snapshot.time, width, rows - 1)]

    def _draw_prompts(self, look: Look, width: int, rows: int) -> list[Line]:
        title = _title("prompt", "prompts", look.observation.prompt_rate)
        return [title, *self._prompts.draw(look.observation.history, look.snapshot.time, width, rows - 1)]

    def _slots_line(self, look: Look, width: int) -> list[Line]:
        """The busy slots' present speeds with their last minutes, as many as one line holds."""
        busy = [slot for slot in look.snapshot.slots or () if slot.is_busy]
        if not busy:
            return []
        label = "by slot: "
        shown = busy[: max(1, (width - len(label) - len(_more(len(busy)))) // _SLOT_WIDTH)]
        spans: Line = ((label, "dim"),)
        for slot in shown:
            spans = (*spans, *self._slot(look, slot.id, slot.state))
        more = len(busy) - len(shown)
        return [(*spans, (_more(more), "dim"))] if more else [spans]

    def _slot(self, look: Look, slot: int, state: SlotState) -> Line:
        series = self._slots.setdefault(slot, Series(lambda point: _own(point, slot)))
        values = [column.value for column in series.columns(look.observation.history, look.snapshot.time, _SPARK)]
        spark = sparkline(values, nice_top(max((value or 0 for value in values), default=0)))
        tone, now = _now(look.observation, slot, state)
        return ((f"{slot} ", "dim"), (spark, "generating"), (f" {rate(now)}  ", tone))


def _more(number: int) -> str:
    return f"and {number} more"


def _title(tone: str, name: str, now: float | None) -> Line:
    return (("■ ", tone), (f"{name} ", "dim"), (rate(now), "strong"), (" tok/s, all slots", "dim"))


def _own(point: Point, slot: int) -> float | None:
    return point.slot_rates[slot] if slot < len(point.slot_rates) else None


def _now(observation: Observation, slot: int, state: SlotState) -> tuple[str, float | None]:
    known = observation.rates.get(slot)
    if known is None:
        return "dim", None
    return ("prompt", known.prompt) if state is SlotState.PROMPT else ("generating", known.generation)
