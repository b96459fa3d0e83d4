"""Tokens per second: generation and prompts of all slots together over time, and each slot's own."""

from __future__ import annotations

from slotview.engine.observe.observation import Observation, Point
from slotview.engine.snapshot import SlotState

from .chart import Chart, bin_points, nice_top, sparkline
from .line import Line, flow, line_width
from .look import Look
from .numbers import rate
from .panel import LinePanel

__all__ = ["SpeedChart"]

_CHART_ROWS = 6
_SIDE_BY_SIDE = 72
_SPARK = 10

_GENERATION = Chart(lambda point: point.generation_rate, "generating", area=False)
_PROMPT = Chart(lambda point: point.prompt_rate, "prompt", area=False)


class SpeedChart(LinePanel):
    """Two charts with a scale each, since prompts run a hundred times as fast, and a line of busy slots."""

    BORDER_TITLE = "Tokens per second"

    def draw(self, look: Look, width: int, height: int | None) -> list[Line]:
        """Make charts and slots; in few lines the charts go before the slots."""
        slots = _slots(look, width)
        if width >= _SIDE_BY_SIDE:
            rows = _CHART_ROWS if height is None else height - len(slots)
            return [*_beside(look, width, max(2, rows)), *slots][:height]
        rows = 2 * _CHART_ROWS if height is None else height - len(slots)
        half = max(2, rows // 2)
        return [
            *_generation(look, width, max(2, rows - half)),
            *_prompts(look, width, half),
            *slots,
        ][:height]


def _beside(look: Look, width: int, rows: int) -> list[Line]:
    room = (width - 2) // 2
    pairs = zip(_generation(look, room, rows), _prompts(look, room, rows), strict=True)
    return [(*left, (" " * (room + 2 - line_width(left)), ""), *right) for left, right in pairs]


def _generation(look: Look, width: int, rows: int) -> list[Line]:
    return [
        _title("generating", "generation", look.observation.generation_rate),
        *_draw(_GENERATION, look, width, rows),
    ]


def _prompts(look: Look, width: int, rows: int) -> list[Line]:
    return [_title("prompt", "prompts", look.observation.prompt_rate), *_draw(_PROMPT, look, width, rows)]


def _title(tone: str, name: str, now: float | None) -> Line:
    return (("■ ", tone), (f"{name} ", "dim"), (rate(now), "strong"), (" tok/s, all slots", "dim"))


def _draw(chart: Chart, look: Look, width: int, rows: int) -> list[Line]:
    return chart.draw(look.observation.history, look.snapshot.time, width, rows - 1)


def _slots(look: Look, width: int) -> list[Line]:
    """The busy slots' present speeds with their last minutes, as many as one line holds."""
    busy = [slot for slot in look.snapshot.slots or () if slot.is_busy]
    if not busy:
        return []
    label: Line = (("each slot: ", "dim"),)
    room = (width - line_width(label)) // (_SPARK + 13)
    parts = [_slot(look, slot.id, slot.state) for slot in busy[: max(1, room)]]
    if len(busy) > len(parts):
        parts.append(((f"+{len(busy) - len(parts)}", "dim"),))
    return [(*label, *flow(parts, width, "  ")[0])]


def _slot(look: Look, slot: int, state: SlotState) -> Line:
    columns = bin_points(look.observation.history, lambda point: _own(point, slot), look.snapshot.time, _SPARK)
    values = [column.value for column in columns]
    spark = sparkline(values, nice_top(max((value or 0 for value in values), default=0)))
    tone, now = _now(look.observation, slot, state)
    return ((f"{slot} ", "dim"), (spark, "generating"), (f" {rate(now)}", tone))


def _own(point: Point, slot: int) -> float | None:
    return point.slot_rates[slot] if slot < len(point.slot_rates) else None


def _now(observation: Observation, slot: int, state: SlotState) -> tuple[str, float | None]:
    known = observation.rates.get(slot)
    if known is None:
        return "dim", None
    return ("prompt", known.prompt) if state is SlotState.PROMPT else ("generating", known.generation)
