"""The deferred queue: how many requests wait, which ones, and for how long."""

from __future__ import annotations

from slotview.engine.observe.continuity import is_current
from slotview.engine.observe.meaning import AS_LAST_REPORTED, waiting_meaning
from slotview.engine.snapshot import WaitingRequest, WaitingView
from slotview.engine.text.plain import plain

from .base.line import Line, fit, flow, join, line_width, wrap
from .base.panel import LinePanel
from .chart import Chart
from .look import Look
from .numbers import count, duration

__all__ = ["WaitingPanel"]

_CHART_ROWS = 4
_MOST_NAMED = 8
_LOW = 5  # lines


class WaitingPanel(LinePanel):
    """Number and list of waiting requests, and a chart. A queue that is not reported is unknown, not empty."""

    BORDER_TITLE = "Waiting for a slot"

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id, classes=classes)
        self._chart = Chart(lambda point: point.waiting, "waiting", least=1)

    def draw(self, look: Look, width: int, height: int | None) -> list[Line]:
        """Make numbers, names and chart."""
        snapshot = look.snapshot
        head = _head(look, width, is_low=height is not None and height < _LOW)
        room = _MOST_NAMED if height is None else _room(height - len(head))
        names = _names(snapshot.waiting.requests or (), snapshot.time, room, width)
        rows = _CHART_ROWS if height is None else height - len(head) - len(names)
        if snapshot.waiting.count is None or rows < 2:
            return [*head, *names][:height]
        return [*head, *names, *self._chart.draw(look.observation.history, snapshot.time, width, rows)]


def _room(rows: int) -> int:
    """Lines for the list: all of them if a chart would not fit, else half."""
    return max(1, rows if rows < _LOW else min(_MOST_NAMED, rows // 2))


def _head(look: Look, width: int, is_low: bool) -> list[Line]:
    """Number and words; if there are few lines, the words are cut off, so that the list has room."""
    number, words = _number(look.snapshot.waiting), _meaning(look)
    lines = flow([number, ((words, "dim"),)], width)
    if len(lines) == 1 or is_low:
        return [fit(join([number, ((words, "dim"),)]), width)]
    return [number, *(((line, "dim"),) for line in wrap(words, width))]


def _number(waiting: WaitingView) -> Line:
    if waiting.count is None:
        return (("unknown", "strong"),)
    return ((count(waiting.count), "strong"), (" waits" if waiting.count == 1 else " wait", ""))


def _meaning(look: Look) -> str:
    snapshot = look.snapshot
    if snapshot.waiting.count is not None and not is_current(snapshot):
        return AS_LAST_REPORTED
    if look.n_unseen:
        return f"{count(look.n_unseen)} new, seen after this step"
    n_slots = None if snapshot.slots is None else len(snapshot.slots)
    words = waiting_meaning(snapshot.waiting, snapshot.busy, n_slots, snapshot.facts.batching)
    words = plain(words, 200)
    if words.startswith("unknown ("):
        words = words.removeprefix("unknown (").removesuffix(")")
    return words.removeprefix("server ")  # it is clear whose, and 80 columns are few


def _names(requests: tuple[WaitingRequest, ...], now: float, room: int, width: int) -> list[Line]:
    """The first requests of the queue, and how many more there are."""
    shown = requests if len(requests) <= room else requests[: room - 1]
    lines = [join(_fitting(_name(request, now), width)) for request in shown]
    more = len(requests) - len(shown)
    return [*lines, ((f"and {count(more)} more", "dim"),)] if more else lines


def _fitting(parts: list[Line], width: int) -> list[Line]:
    """Leave out the last parts if they do not fit."""
    while len(parts) > 1 and line_width(join(parts)) > width:
        parts = parts[:-1]
    return parts


def _name(request: WaitingRequest, now: float) -> list[Line]:
    pin = "any slot" if request.id_slot is None else f"only slot {request.id_slot}"
    parts: list[Line] = [(("task ", "dim"), (str(request.task), "waiting"))]
    if request.kind != "completion":
        parts.append(((plain(request.kind, 20), "waiting"),))
    parts.append(((pin, "dim" if request.id_slot is None else ""),))
    if request.since is not None:
        parts.append(((f"for {duration(now - request.since)}", ""),))
    if request.n_prompt is not None:
        parts.append(((f"{count(request.n_prompt)} tokens", "dim"),))
    return parts
