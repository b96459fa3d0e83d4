"""Tokens per second over time: generation and prompts of all slots together, and of each slot."""

from __future__ import annotations

from slotview.engine.observe.meaning import request_speed_meaning
from slotview.engine.snapshot import HealthState

from .base.line import Line, line_width, wrap
from .base.panel import LinePanel
from .chart import Chart
from .look import Look
from .numbers import rate
from .slot_speeds import SlotSpeeds

__all__ = ["SpeedChart"]

_CHART_ROWS = 6
_SIDE_BY_SIDE = 72
_SLOTS_SHARE = 4  # of the lines, one in so many is for slots


class SpeedChart(LinePanel):
    """Two charts with their own scales, since prompts are a hundred times as fast, and a line about busy slots."""

    BORDER_TITLE = "Tokens per second"

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id, classes=classes)
        self._generation = Chart(lambda point: point.generation_rate, "generating", area=False)
        self._prompts = Chart(lambda point: point.prompt_rate, "prompt", area=False)
        self._slots = SlotSpeeds()

    def draw(self, look: Look, width: int, height: int | None) -> list[Line]:
        """Make the charts, side by side or one above the other, and the slots below."""
        slots = self._below(look, width, 1 if height is None else max(1, height // _SLOTS_SHARE))
        if width >= _SIDE_BY_SIDE:
            rows = _CHART_ROWS if height is None else height - len(slots)
            return [*self._beside(look, width, max(2, rows)), *slots][:height]
        rows = 2 * _CHART_ROWS if height is None else height - len(slots)
        half = max(2, rows // 2)
        upper, lower = self._draw_generation(look, width, max(2, rows - half)), self._draw_prompts(look, width, half)
        return [*upper, *lower, *slots][:height]

    def _below(self, look: Look, width: int, most: int) -> list[Line]:
        if look.snapshot.slots is not None:
            return self._slots.draw(look, width, most)
        words = request_speed_meaning(look.snapshot.totals)
        lines: list[Line] = [((line, "dim"),) for line in wrap(words, width) if words]
        return lines[:most]

    def _beside(self, look: Look, width: int, rows: int) -> list[Line]:
        room = (width - 2) // 2
        pairs = zip(self._draw_generation(look, room, rows), self._draw_prompts(look, room, rows), strict=True)
        return [(*left, (" " * (room + 2 - line_width(left)), ""), *right) for left, right in pairs]

    def _draw_generation(self, look: Look, width: int, rows: int) -> list[Line]:
        seen = look.observation
        title = _title("generating", "generation", rate(seen.generation_rate, at_least=seen.generation_at_least))
        return [title, *_chart(self._generation, look, width, rows - 1)]

    def _draw_prompts(self, look: Look, width: int, rows: int) -> list[Line]:
        seen = look.observation
        title = _title("prompt", "prompts", rate(seen.prompt_rate, at_least=seen.prompt_at_least))
        return [title, *_chart(self._prompts, look, width, rows - 1)]


def _chart(chart: Chart, look: Look, width: int, rows: int) -> list[Line]:
    snapshot = look.snapshot
    is_hidden = snapshot.slots is None and snapshot.health.state is HealthState.OK
    without = "unknown without the slots" if is_hidden else "nothing measured yet"
    return chart.draw(look.observation.history, snapshot.time, width, rows, without=without)


def _title(tone: str, name: str, now: str) -> Line:
    return (("■ ", tone), (f"{name} ", "dim"), (now, "strong"), (" tok/s, all slots", "dim"))
