"""A short memory of recent events and answers, for findings that need more than the current moment."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from slotview.engine.events import ContextShifted, Event, PoolFull, RequestRefused, SlotChosen, TaskEnded, TaskStarted
from slotview.engine.snapshot import SlotState, SlotView, Snapshot

from ..continuity import answered_at
from ..departures import Departures
from ..track import TaskTrack

__all__ = ["Memory", "Overflow", "Unreused"]

KEPT = 64
ONE_OVERFLOW = 10.0  # seconds within which errors belong to one overflow
POOL_ERROR = "Context size has been exceeded"

_Event = TypeVar("_Event", bound=Event)

HowKnown = Literal["reported", "errors", "seen"]
"""Reported by the server itself, by the errors that clients got, or concluded from the slots."""


class Overflow(Struct, frozen=True):
    """The shared pool overflowed: how many tasks ended, and what the slots held just before."""

    time: float
    n_tasks: int
    active: int | None = None
    fullest: float | None = None  # the largest share of its own context that any slot had in use
    how: HowKnown = "reported"


class Unreused(Struct, frozen=True):
    """A slot was chosen because its content resembled the prompt, but then nothing of it was reused."""

    time: float
    slot: int
    task: int
    similarity: float


class Memory:
    """Bounded notes: every list forgets its oldest entries."""

    def __init__(self) -> None:
        self.departures = Departures()
        self.unreused: deque[Unreused] = deque(maxlen=KEPT)
        self.shifts: deque[ContextShifted] = deque(maxlen=KEPT)
        self.refused: deque[RequestRefused] = deque(maxlen=KEPT)
        self.overflow: Overflow | None = None
        self.most_held = 0  # tokens in all slots together
        self._started: dict[int, TaskStarted] = {}
        self._chosen: dict[int, SlotChosen] = {}
        self._before: Snapshot | None = None

    def note(self, events: Iterable[Event]) -> None:
        """Take in what happened, in order."""
        for event in events:
            match event:
                case TaskStarted():
                    _keep(self._started, event.task, event)
                case SlotChosen() if event.task not in self._started:  # after a retune it counts earlier reuse
                    _keep(self._chosen, event.task, event)
                case TaskEnded():
                    self._ended(event)
                case ContextShifted():
                    self.shifts.append(event)
                case RequestRefused():
                    self.refused.append(event)
                case PoolFull():
                    self._pool_full(event)

    def answer(self, snapshot: Snapshot, left: Iterable[TaskTrack]) -> None:
        """Take in an answer about the slots, and the tasks that left since the one before."""
        at = answered_at(snapshot)
        gone = list(left)
        doubt = 0.0 if self._before is None else at - answered_at(self._before)
        for track in gone:
            self.departures.seen(track, at, doubt)
        self._vanished(snapshot, at, len(gone))
        self.most_held = max(self.most_held, snapshot.pool.used or 0)
        for slot in snapshot.slots or ():
            if slot.is_busy and slot.task in self._chosen:
                self._reuse(slot, at)
        self._before = snapshot

    def _ended(self, event: TaskEnded) -> None:
        started = self._started.pop(event.task, None)
        self.departures.reported(event, None if started is None else started.time)
        if event.error is not None and POOL_ERROR in event.error:
            self._pool_error(event)

    def _reuse(self, slot: SlotView, at: float) -> None:
        """Once its prompt is under way, compare what a task reused with the reason its slot was chosen for."""
        if slot.task is None or slot.n_prompt_cached is None or not (slot.n_prompt_processed or slot.n_decoded):
            return
        chosen = self._chosen.pop(slot.task)
        is_reusable = slot.n_prompt is None or slot.n_prompt > 1  # at least one token is always computed
        if chosen.how == "lcp" and slot.n_prompt_cached == 0 and is_reusable:
            self.unreused.append(Unreused(at, slot.id, slot.task, chosen.similarity or 0.0))

    def _pool_full(self, event: PoolFull) -> None:
        known = self.overflow
        if known is None or event.time - known.time > ONE_OVERFLOW:
            known = self._overflow(event.time, event.n_tasks, "reported")
        self.overflow = replace(known, n_tasks=event.n_tasks, how="reported")

    def _pool_error(self, event: TaskEnded) -> None:
        """A request failed because the pool was full. Errors of one overflow come together and count as one."""
        known = self.overflow
        if known is None or event.time - known.time > ONE_OVERFLOW:
            self.overflow = self._overflow(event.time, 1, "errors")
        elif known.how == "errors":
            self.overflow = replace(known, n_tasks=known.n_tasks + 1)

    def _overflow(self, time: float, n_tasks: int, how: HowKnown) -> Overflow:
        slots = () if self._before is None else self._before.slots or ()
        busy = [slot for slot in slots if slot.is_busy]
        held = [slot.n_tokens for slot in busy if slot.n_tokens is not None]
        shares = [slot.n_tokens / slot.n_ctx for slot in busy if slot.n_tokens is not None and slot.n_ctx]
        return Overflow(time, n_tasks, sum(held) if held else None, max(shares, default=None), how)

    def _vanished(self, snapshot: Snapshot, at: float, n_gone: int) -> None:
        """Notice if all running tasks ended at once and left nothing, as only a full pool makes them (spec §3.3)."""
        recent = self.overflow is not None and at - self.overflow.time < ONE_OVERFLOW
        if n_gone < 2 or recent or self._before is None or n_gone < (self._before.busy or 0):
            return
        slots = snapshot.slots or ()
        if all(slot.state is SlotState.IDLE and slot.n_tokens == 0 for slot in slots) and self._was_near_full():
            self.overflow = self._overflow(at, n_gone, "seen")

    def _was_near_full(self) -> bool:
        before = self._before
        if before is None or before.pool.unified is False or before.pool.active is None:
            return False
        sizes = [before.pool.cells] if before.pool.cells else list(before.pool.candidates)
        return any(before.pool.active >= 0.7 * cells for cells in sizes)


def _keep(notes: dict[int, _Event], task: int, event: _Event) -> None:
    notes[task] = event
    if len(notes) > 4 * KEPT:
        del notes[next(iter(notes))]
