"""What happened between two snapshots: small frozen records, numbered by the ring that keeps them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from threading import Condition
from typing import Literal

from msgspec import Struct

__all__ = [
    "ContextShifted",
    "Event",
    "EventBatch",
    "EventRing",
    "HowChosen",
    "LogLine",
    "Notice",
    "PoolFull",
    "Purged",
    "RequestRefused",
    "Retuned",
    "Severity",
    "SlotChosen",
    "TaskDeferred",
    "TaskEnded",
    "TaskStarted",
]

HowChosen = Literal["id", "lcp", "lru"]
"""Why a slot was picked: named by the request, holds the longest common prefix, or least recently used (spec §5.2)."""

Severity = Literal["information", "warning", "error"]


class Event(Struct, frozen=True, omit_defaults=True):
    """Base of all events; ``time`` is seconds on the backend's clock."""

    time: float


class SlotChosen(Event, frozen=True):
    """A slot was picked for a task.

    ``similarity``: share of the prompt that the slot already holds. ``keep``: share of its tokens that stay.
    """

    slot: int
    task: int
    how: HowChosen
    similarity: float | None = None
    keep: float | None = None


class TaskDeferred(Event, frozen=True):
    """No slot was free, or the pinned one was busy: the task waits."""

    task: int
    id_slot: int | None


class TaskStarted(Event, frozen=True):
    """A task took a slot after waiting ``waited`` seconds in the queues."""

    slot: int
    task: int
    waited: float | None
    n_prompt: int | None


class TaskEnded(Event, frozen=True):
    """A task left its slot.

    ``reason``: eos, limit, word, none, error, cancel, or "unseen" (it ended between two polls, so nobody knows why).
    """

    slot: int
    task: int
    reason: str
    n_decoded: int | None = None
    n_prompt: int | None = None
    truncated: bool | None = None
    prompt_seconds: float | None = None
    generation_seconds: float | None = None
    n_cached: int | None = None
    error: str | None = None


class RequestRefused(Event, frozen=True):
    """A request that was fired from here was refused before any task of it was seen."""

    number: int
    error: str


class Purged(Event, frozen=True):
    """An idle slot's cached tokens were dropped to make room in the unified pool (spec §3.3)."""

    slot: int
    n_tokens: int


class PoolFull(Event, frozen=True):
    """The pool had no room left: ``n_tasks`` running tasks ended with an error (spec §3.3)."""

    n_tasks: int


class ContextShifted(Event, frozen=True):
    """A slot discarded ``n_discard`` tokens after the first ``n_keep`` (spec §6.2)."""

    slot: int
    task: int
    n_keep: int
    n_left: int
    n_discard: int


class LogLine(Event, frozen=True):
    """One line of a server's log: level letter I, W, E or D ("" if it does not tell), and the text with its prefix."""

    level: str
    text: str


class Retuned(Event, frozen=True):
    """The engine was rebuilt with other flags."""

    summary: str
    n_requeued: int = 0
    n_tokens_again: int = 0


class Notice(Event, frozen=True):
    """Something the user should read: a restart of the server, a lost connection, a warning."""

    text: str
    severity: Severity = "information"


class EventBatch(Struct, frozen=True):
    """Events after a cursor, the next cursor, and how many were lost because the ring overflowed."""

    events: tuple[Event, ...] = ()
    cursor: int = 0
    dropped: int = 0


class EventRing:
    """A bounded, thread-safe ring of events. A cursor is the number of events added so far."""

    def __init__(self, capacity: int = 4096) -> None:
        self._events: deque[Event] = deque(maxlen=capacity)
        self._added = 0
        self._lock = Condition()

    def extend(self, events: Iterable[Event]) -> None:
        """Add events in order."""
        with self._lock:
            for event in events:
                self._events.append(event)
                self._added += 1
            self._lock.notify_all()

    def after(self, cursor: int) -> EventBatch:
        """Return what was added after ``cursor`` (0 = from the beginning)."""
        with self._lock:
            first = self._added - len(self._events)
            start = max(cursor, first)
            kept = tuple(self._events)[start - first :] if start < self._added else ()
            return EventBatch(kept, self._added, max(0, first - cursor))

    def wait_after(self, cursor: int, timeout: float) -> EventBatch:
        """Like `after`, but wait up to ``timeout`` seconds for something new."""
        with self._lock:
            self._lock.wait_for(lambda: self._added > cursor, timeout)
        return self.after(cursor)
