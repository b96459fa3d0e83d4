"""What happened, newest at the bottom: events in words, and the server's own log lines if they are known."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.events import Click
from textual.message import Message

from slotview.engine.events import (
    ContextShifted,
    Event,
    HowChosen,
    LogLine,
    Notice,
    PoolFull,
    Purged,
    RequestRefused,
    Retuned,
    Severity,
    SlotChosen,
    TaskDeferred,
    TaskEnded,
    TaskStarted,
)
from slotview.engine.text.plain import plain

from .base.following_scroll import FollowingScroll
from .base.line import Line, fit
from .look import Look
from .numbers import count, duration

__all__ = ["LogView", "event_line"]

_KEPT = 2000
_LONGEST = 400
_LEVELS = {"W": "warning", "E": "error", "D": "faint"}
_SEVERITIES: dict[Severity, str] = {"information": "", "warning": "warning", "error": "error"}
_HOW: dict[HowChosen, str] = {"id": "asked for by number", "lcp": "holds its beginning", "lru": "used longest ago"}


class LogView(FollowingScroll):
    """A bounded log that follows its end while that is in view. Long lines are cut; Enter asks for them in full."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "read", "Read", key_display="↵", tooltip="Read the log on the whole screen, nothing cut off"),
    ]
    DEFAULT_CSS = """
    LogView { height: 1fr; min-height: 3; }
    """

    class ReadRequested(Message):
        """Show the log on the whole screen."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 (Textual's name)
        super().__init__(id=id, classes=classes)
        self.border_title = "Log"
        self._lines: deque[Line] = deque(maxlen=_KEPT)
        self._began: float | None = None
        self._newest: Line | None = None
        self._n_newest = 0

    def on_click(self, event: Click) -> None:
        """A double click reads it."""
        if event.chain == 2:
            self.action_read()

    def action_read(self) -> None:
        """Ask for the whole screen."""
        self.post_message(self.ReadRequested())

    @property
    def lines(self) -> Sequence[Line]:
        """All lines kept, the oldest first, none cut off."""
        return self._lines

    @property
    def n_lines(self) -> int:
        """Lines kept."""
        return len(self._lines)

    def draw_line(self, index: int, width: int) -> Line:
        """Make one line; "…" shows that it goes on."""
        return fit(self._lines[index], width)

    def draw_empty(self) -> str:
        """Say that nothing has happened yet."""
        return "nothing has happened yet"

    def show(self, look: Look) -> None:
        """Add the events of a look."""
        if self._began is None:
            self._began = look.snapshot.time
        if look.events:
            self._add([event_line(event, self._began) for event in look.events])

    def _add(self, lines: list[Line]) -> None:
        """Add lines; the view stays at the end, or on the same lines while the oldest ones are dropped."""
        top = self.scroll_offset.y
        n_lost = sum([self._drops_one_for(line) for line in lines])
        self.lay_out()
        if n_lost and not self._follows:
            self.scroll_to(y=max(0, top - n_lost), animate=False)

    def _drops_one_for(self, line: Line) -> bool:
        """Add a line, or count it if it is the newest one again; return whether the oldest one made room for it."""
        if line == self._newest:
            self._n_newest += 1
            self._lines[-1] = ((f"{self._n_newest}× ", "faint"), *line)
            return False
        self._newest, self._n_newest = line, 1
        is_full = len(self._lines) == _KEPT
        self._lines.append(line)
        return is_full


def event_line(event: Event, began: float) -> Line:
    """An event in words, with the seconds since ``began``; a server's log line already has a time."""
    text, tone = _words(event)
    line: Line = ((plain(text, _LONGEST), tone),)
    return line if isinstance(event, LogLine) else ((f"{max(0.0, event.time - began):8.1f} s  ", "faint"), *line)


def _words(event: Event) -> tuple[str, str]:
    match event:
        case LogLine():
            return event.text, _LEVELS.get(event.level, "dim")
        case Notice():
            return event.text, _SEVERITIES[event.severity]
        case PoolFull():
            ended = f"{event.n_tasks} running requests ended" if event.n_tasks else "all running requests ended"
            return f"pool full: {ended} with an error", "error"
        case Purged():
            return f"slot {event.slot}: {count(event.n_tokens)} cached tokens dropped to make room", "warning"
        case ContextShifted():
            kept = f"kept {count(event.n_keep)}, dropped {count(event.n_discard)}"
            return f"slot {event.slot}, task {event.task}: context shifted, {kept}", "warning"
        case Retuned():
            return f"retuned: {event.summary}", "good"
        case _:
            return _task_words(event)


def _task_words(event: Event) -> tuple[str, str]:
    match event:
        case SlotChosen():
            share = "" if event.similarity is None else f", {event.similarity:.0%} of the prompt"
            return f"slot {event.slot} chosen for task {event.task}: {_HOW[event.how]}{share}", "dim"
        case TaskDeferred():
            pin = "no slot is free" if event.id_slot is None else f"slot {event.id_slot} is busy"
            return f"task {event.task} waits: {pin}", "waiting"
        case TaskStarted():
            waited = "" if event.waited is None else f" after {duration(event.waited)} of waiting"
            prompt = "" if event.n_prompt is None else f", {count(event.n_prompt)} prompt tokens"
            return f"task {event.task} took slot {event.slot}{waited}{prompt}", "generating"
        case RequestRefused():
            return f"request {event.number} was refused: {event.error}", "error"
        case TaskEnded():
            left = f"task {event.task} left slot {event.slot}"
            return left + _how_it_ended(event), "error" if event.error else "dim"
        case _:
            return type(event).__name__, "dim"


def _how_it_ended(event: TaskEnded) -> str:
    """Reason and tokens; if the task ended between two looks, only the tokens that were seen."""
    if event.reason == "unseen" and not event.error:
        return "" if event.n_decoded is None else f": {count(event.n_decoded)}+ tokens"
    return f": {event.error or event.reason}" + (
        "" if event.n_decoded is None else f", {count(event.n_decoded)} tokens"
    )
