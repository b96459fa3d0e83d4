"""The history on the whole screen, drawn once by plotext; a key draws it again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from msgspec import Struct
from rich.color import Color
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.events import Resize
from textual.widget import Widget
from textual.widgets import Static

from slotview.engine.observe.observation import Point
from slotview.widgets.base.line import tone_style
from slotview.widgets.chart import nice_top
from slotview.widgets.numbers import count, rate

from .dialog import Dialog

__all__ = ["ChartScreen", "Colour", "draw_chart"]

FRAME = 4  # lines of a plot around the drawing: its name, the frame and the time marks
LABEL = 6  # cells for a level, so that the plots begin below each other

Colour = int | tuple[int, ...]
"""One of the terminal's own, or red, green and blue."""


class Series(Struct, frozen=True):
    """What is drawn of each point of the history, in the colour of a tone."""

    name: str
    colour: Colour
    value: Callable[[Point], float | None]
    at_least: Callable[[Point], bool] = lambda _: False


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
        """Make room for the drawing."""
        yield Static("", id="plot", markup=False)

    def on_resize(self, event: Resize) -> None:
        """Draw at the new size."""
        self.call_after_refresh(self.action_draw)

    def action_draw(self) -> None:
        """Draw what is known now."""
        plot = self.query_one("#plot", Static)
        history = self._history()
        if not history or history[-1].time <= history[0].time:
            plot.update("Nothing to draw yet: the history begins with the second look.")
        else:
            plot.update(Text.from_ansi(draw_chart(history, plot.size.width, plot.size.height, self._colour)))

    def _colour(self, tone: str) -> Colour:
        colour = tone_style(self, tone).color or Color.default()
        return colour.number if colour.number is not None else tuple(colour.get_truecolor())


def draw_chart(history: Sequence[Point], width: int, height: int, colour_of: Callable[[str], Colour]) -> str:
    """Draw speeds and load over time, as coloured text. Prompts are much faster, so they have a scale of their own."""
    green, blue, amber = (colour_of(tone) for tone in ("generating", "prompt", "waiting"))
    generation = Series(
        "generation tok/s", green, lambda point: point.generation_rate, lambda point: point.generation_at_least
    )
    prompt = Series("prompt tok/s", blue, lambda point: point.prompt_rate, lambda point: point.prompt_at_least)
    busy = Series("busy slots", green, lambda point: point.busy)
    waiting = Series("waiting", amber, lambda point: point.waiting)
    third = height // 3
    plots = ((generation,), height - 2 * third), ((prompt,), third), ((busy, waiting), third)
    return "\n".join(_plot(series, history, width, rows) for series, rows in plots)


def _plot(series: Sequence[Series], history: Sequence[Point], width: int, height: int) -> str:
    """One plot with its name above it: plotext's own legend would cover the drawing."""
    import plotext

    width, height = max(20, width), max(6, height)
    plotext.terminal.limit(width=False, height=False)
    figure = plotext.figure
    figure.clear()
    figure.theme("simple")
    figure.plot_size(width, height - 1)
    highest = max(_draw(figure, one, history) for one in series) or 1.0
    seconds = history[-1].time - history[0].time
    levels, moments = _marks(highest, (height - FRAME) // 2), _marks(seconds, width // 16)
    figure.ruler(axis=0).lim(-seconds, 0)
    figure.ruler(axis=0).ticks([-moment for moment in moments], [_ago(moment) for moment in moments])
    figure.ruler(axis=1).lim(0, 1.05 * highest)
    figure.ruler(axis=1).ticks(levels, [_level(level).rjust(LABEL) for level in levels])
    drawn = str(figure.build())
    figure.clear()
    return _names(series, history[-1], width) + "\n" + drawn.rstrip("\n")


def _names(series: Sequence[Series], newest: Point, width: int) -> str:
    """What is drawn, each in its colour and with its newest value: lines may lie on each other."""
    import plotext

    names = [f"■ {one.name} {_newest(one, newest)}" for one in series]
    room = " " * max(0, width - len("  ".join(names)))
    return "  ".join(str(plotext.colorize(name, one.colour)) for name, one in zip(names, series, strict=True)) + room


def _newest(series: Series, point: Point) -> str:
    value = series.value(point)
    return count(value) if isinstance(value, int) else rate(value, at_least=series.at_least(point))


def _marks(length: float, most: int) -> list[float]:
    """Round numbers from 0, in at most ``most`` steps; if not even one fits, 0 and the length itself."""
    step = nice_top(length / max(1, most))
    marks = [step * number for number in range(int(length / step) + 1)]
    return marks if len(marks) > 1 else [0.0, length]


def _level(value: float) -> str:
    return count(value) if value == int(value) else f"{value:.4g}"


def _ago(seconds: float) -> str:
    return f"-{seconds:.4g} s" if seconds else "now"


def _draw(figure: Any, series: Series, history: Sequence[Point]) -> float:
    """Draw what is known, with a gap where it is not, or where the server restarted. Returns the maximum."""
    import plotext

    now = history[-1].time
    values = [series.value(point) for point in history]
    known = [index for index, value in enumerate(values) if value is not None]
    numbers = [value for value in values if value is not None]
    if not known:
        return 0.0
    times = [history[index].time - now for index in known]
    signal = figure.signal(times, numbers, marker=plotext.marker("braille", series.colour))
    signal.lines()
    for position, index in enumerate(known):
        if history[index].break_before or index == 0 or values[index - 1] is None:
            signal.line(position, active=False)
    figure.draw(signal)
    return max(numbers)
