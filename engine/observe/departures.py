"""The tasks that recently left their slots: reported by events, seen in the slots, or both, in either order."""

from __future__ import annotations

from collections import deque

from msgspec import Struct
from msgspec.structs import replace

from ..events import TaskEnded
from .track import TaskTrack

__all__ = ["Departure", "Departures"]

KEPT = 64


class Departure(Struct, frozen=True):
    """A task that left its slot: how, after how many seconds, and whether any token of its answer was seen."""

    event: TaskEnded
    seconds: float | None
    sampled: bool
    n_tokens: int | None = None


class Departures:
    """Keeps the latest departures, one entry per task."""

    def __init__(self) -> None:
        self._kept: deque[Departure] = deque(maxlen=KEPT)

    def latest(self) -> list[Departure]:
        """All kept, oldest first."""
        return list(self._kept)

    def reported(self, event: TaskEnded, started_at: float | None) -> None:
        """Note an event about the end; it is more reliable than what was seen in the slots."""
        seconds = None if started_at is None else event.time - started_at
        index = self._find(event.slot, event.task)
        if index is None:
            self._kept.append(Departure(event, seconds, sampled=bool(event.n_decoded)))
            return
        seen = self._kept[index]
        self._kept[index] = replace(
            seen,
            event=event if event.n_decoded is not None else replace(event, n_decoded=seen.event.n_decoded),
            seconds=seen.seconds if seconds is None else seconds,
            sampled=seen.sampled or bool(event.n_decoded),
        )

    def seen(self, track: TaskTrack, at: float, doubt: float = 0.0) -> None:
        """Note that the slot no longer runs the task; it may have ended up to ``doubt`` seconds before."""
        if track.task is None:
            return
        seconds = track.seconds(at, doubt)
        index = self._find(track.slot, track.task)
        if index is None:
            event = TaskEnded(at, track.slot, track.task, "unseen", n_decoded=track.n_decoded)
            self._kept.append(Departure(event, seconds, track.sampled, track.n_tokens))
            return
        told = self._kept[index]
        self._kept[index] = replace(
            told,
            seconds=seconds if told.seconds is None or told.event.reason == "unseen" else told.seconds,
            sampled=told.sampled or track.sampled,
            n_tokens=track.n_tokens,
        )

    def _find(self, slot: int, task: int) -> int | None:
        for index, known in enumerate(self._kept):
            if known.event.slot == slot and known.event.task == task:
                return index
        return None
