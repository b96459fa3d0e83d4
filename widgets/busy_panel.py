"""How many slots work at once, now and on average, and what that says about concurrency."""

from __future__ import annotations

from slotview.engine.observe.continuity import is_current
from slotview.engine.observe.meaning import AS_LAST_REPORTED, busy_meaning, slots_unknown, unseen_meaning
from slotview.engine.snapshot import Snapshot
from slotview.engine.text.plain import plain

from .base.line import Line, flow, wrap
from .base.panel import LinePanel
from .chart import Chart
from .look import Look
from .numbers import UNKNOWN

__all__ = ["BusyPanel"]

_TEXT_LIMIT = 200
_CHART_ROWS = 4
_LOW = 5  # lines


class BusyPanel(LinePanel):
    """Busy of total now, the average per decode, words for it, and a chart."""

    BORDER_TITLE = "Busy slots"

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id, classes=classes)
        self._chart = Chart(lambda point: point.busy, "generating")

    def draw(self, look: Look, width: int, height: int | None) -> list[Line]:
        """Make numbers, words and chart."""
        snapshot = look.snapshot
        words = _words(look)
        lines = flow([_now(snapshot), _average(snapshot)], width)
        if height is not None and height < _LOW and len(lines) > 1:
            lines = flow([_now(snapshot), _short_average(snapshot)], width)[:1]
        most = None if height is None else max(0, height - len(lines))
        lines += [((line, "dim"),) for line in wrap(words, width, most)]
        rows = _CHART_ROWS if height is None else height - len(lines)
        if rows < 2:
            return lines
        chart = self._chart.draw(look.observation.history, snapshot.time, width, rows, _n_slots(snapshot))
        return [*lines, *chart]


def _words(look: Look) -> str:
    snapshot = look.snapshot
    if snapshot.busy is None:
        return plain(slots_unknown(snapshot), _TEXT_LIMIT)
    if not is_current(snapshot):
        return AS_LAST_REPORTED
    if look.n_unseen:
        return unseen_meaning(snapshot.busy, _n_slots(snapshot), look.n_unseen)
    return busy_meaning(snapshot.busy, _n_slots(snapshot), snapshot.totals.busy_per_decode, snapshot.waiting.now)


def _now(snapshot: Snapshot) -> Line:
    total = _n_slots(snapshot)
    of = "" if total is None else f" of {total}"
    if snapshot.busy is None:
        return ((UNKNOWN, "strong"), (f"{of} busy now", ""))
    return ((str(snapshot.busy), "strong"), (f"{of} busy now" if is_current(snapshot) else f"{of} were busy", ""))


def _average(snapshot: Snapshot) -> Line:
    average = snapshot.totals.busy_per_decode
    if average is None:
        return ((f"average per decode: {'none yet' if _is_before_any(snapshot) else 'unknown'}", "dim"),)
    over = ", these flags" if snapshot.facts.source == "embedded" else " since start"
    return (("average ", "dim"), (f"{average:.2f}", "strong"), (f" per decode{over}", "dim"))


def _short_average(snapshot: Snapshot) -> Line:
    average = snapshot.totals.busy_per_decode
    if average is None:
        return (("no average yet" if _is_before_any(snapshot) else "average unknown", "dim"),)
    return (("average ", "dim"), (f"{average:.2f}", "strong"))


def _is_before_any(snapshot: Snapshot) -> bool:
    """Whether there was no decode; the embedded engine counts anew with each change of its flags."""
    return snapshot.totals.decodes == 0 or snapshot.facts.source == "embedded"


def _n_slots(snapshot: Snapshot) -> int | None:
    return snapshot.facts.n_slots if snapshot.slots is None else len(snapshot.slots) or None
