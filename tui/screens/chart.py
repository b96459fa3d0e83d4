"""The history over the whole screen, drawn once by plotext; a key draws it again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.events import Resize
from textual.widget import Widget
from textual.widgets import Static

from slotview.engine.observe.observation import Point

from .dialog import Dialog

__all__ = ["ChartScreen", "draw_chart"]

Series = tuple[str, str, list[float], list[float]]


class ChartScreen(Dialog[None]):
    """Speed above, busy slots and waiting requests below."""

    DEFAULT_CLASSES = "-large"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "draw", "Draw again", id="chart.draw", tooltip="Draw the history as it is now"),
        Binding("v", "leave", "Back", id="chart.leave", show=False),
    ]
    DEFAULT_CSS = """
    ChartScreen #plot { width: 100%; height: 100%; }
    """

    def __init__(self, history: Callable[[], Sequence[Point]]) -> None:
        super().__init__()
        self._history = history

    def title_text(self) -> str:
        """Return the title."""
        return "History"

    def inside(self) -> Iterable[Widget]:
        """Make the place for the drawing."""
        yield Static("", id="plot", markup=False)

    def on_resize(self, event: Resize) -> None:
        """Draw to the size there is."""
        self.call_after_refresh(self.action_draw)

    def action_draw(self) -> None:
        """Draw what is known now."""
        plot = self.query_one("#plot", Static)
        history = self._history()
        if len(history) < 2:
            plot.update("Nothing to draw yet: the history begins with the second look.")
        else:
            plot.update(Text.from_ansi(draw_chart(history, plot.size.width, plot.size.height)))


def draw_chart(history: Sequence[Point], width: int, height: int) -> str:
    """Draw speed and load over time, as text with colours."""
    upper = height * 3 // 5
    now = history[-1].time
    speed = [
        _series("generation tok/s", "green", history, lambda point: point.generation_rate, now),
        _series("prompt tok/s", "blue", history, lambda point: point.prompt_rate, now),
    ]
    load = [
        _series("busy slots", "cyan", history, lambda point: point.busy, now),
        _series("waiting", "orange", history, lambda point: point.waiting, now),
    ]
    return _plot(speed, width, upper) + "\n" + _plot(load, width, height - upper - 1)


def _series(
    name: str, colour: str, history: Sequence[Point], value: Callable[[Point], float | None], now: float
) -> Series:
    known = [(point.time - now, number) for point in history if (number := value(point)) is not None]
    return name, colour, [time for time, _ in known], [number for _, number in known]


def _plot(series: Sequence[Series], width: int, height: int) -> str:
    import plotext

    plotext.clear_figure()
    plotext.theme("clear")
    plotext.plot_size(max(20, width), max(6, height))
    for name, colour, times, values in series:
        if times:
            plotext.plot(times, values, label=name, color=colour, marker="braille")
    plotext.ylim(0, max((max(values) for *_, values in series if values), default=1) * 1.05 or 1)
    plotext.xlabel("seconds")
    return str(plotext.build()).rstrip("\n")
