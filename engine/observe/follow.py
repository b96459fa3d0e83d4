"""Follows tasks through slots: their speeds and stalls, the throughput of all slots, and which tasks left."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from ..events import Event, TaskEnded
from ..snapshot import SlotState, SlotView, Snapshot
from .continuity import answered_at, expected_gap
from .counted import Counted
from .observation import SlotRate
from .rates import WINDOW, Throughput
from .stalls import PREFILL_AFTER, STALL_AFTER, has_begun
from .track import Growth, TaskTrack
from .unseen import UnseenWork

__all__ = ["Follower"]

REMEMBERED = 512  # tasks that left, kept because a late event may still complete their counts

_NO_RATE = SlotRate()


class Follower:
    """Keeps a `TaskTrack` per busy slot, and the throughput of all. ``n_begun``: tasks seen since the first answer."""

    def __init__(self) -> None:
        self.tracks: dict[int, TaskTrack] = {}
        self.generated = Throughput()
        self.processed = Throughput()
        self.n_begun = 0
        self.unseen = UnseenWork(WINDOW)
        self._counted = Counted()
        self._at: float | None = None
        self._gone: dict[int, tuple[int | None, int | None]] = {}

    def after_retune(self) -> Follower:
        """A new one that knows what tasks have decoded: queued again, they keep that, while prompts begin anew."""
        fresh = Follower()
        for track in list(self.tracks.values()):
            self._drop(track)
        for task, (decoded, _) in self._gone.items():
            fresh._remember(task, decoded, None)
        return fresh

    def answer(self, snapshot: Snapshot) -> list[TaskTrack]:
        """Take in an answer about the slots; return the tracks of tasks that are no longer there."""
        at, interval = answered_at(snapshot), expected_gap(snapshot)
        elapsed = 0.0 if self._at is None else at - self._at
        if self._at is None:
            self.generated.begin(at)
            self.processed.begin(at)
        left: list[TaskTrack] = []
        decoded = 0
        for slot in snapshot.slots or ():
            growth = self._slot(slot, at, elapsed, interval, left)
            if growth is not None:
                decoded += growth.decoded
                self._processed(growth, at)
        decoded += self._after_the_last_look(snapshot, left, at, elapsed)
        self.generated.add(at - elapsed, at, decoded)
        self._at = at
        return left

    def _after_the_last_look(self, snapshot: Snapshot, left: list[TaskTrack], at: float, elapsed: float) -> int:
        """Add what the server counted of tasks that are over; return what their slots show they decoded at last."""
        tails = self.unseen.answer(snapshot.slots or (), left, at, elapsed if snapshot.poll is not None else 0.0)
        ended = tails + sum(track.n_decoded or 0 for track in left)
        self.generated.add(*self._counted.answer(snapshot, self._at, at, ended))
        self.unseen.counted(self._counted.since, at)
        return tails

    def _slot(self, slot: SlotView, at: float, elapsed: float, interval: float, left: list[TaskTrack]) -> Growth | None:
        track = self.tracks.get(slot.id)
        if track is not None and not (slot.is_busy and track.fits(slot)):
            left.append(self._drop(track))
            track = None
        if not slot.is_busy:
            return None
        if track is None:
            track = self.tracks[slot.id] = self._begin(slot, at, elapsed)
        return track.add(slot, at, elapsed, interval)

    def _begin(self, slot: SlotView, at: float, elapsed: float) -> TaskTrack:
        """Start to follow a task; one that comes from another slot, after a retune, keeps its counts."""
        self.n_begun += 1
        track = TaskTrack(slot.id, slot.task, first_at=at, begun=self._at is not None, progress_at=at)
        track.started_at = slot.started_at
        if track.begun:
            track.started_at = at if slot.started_at is None else slot.started_at
            track.doubt = elapsed if slot.started_at is None else 0.0
            track.prompt.begin(at, elapsed)
        if slot.task is not None and slot.task in self._gone:
            track.n_decoded, track.n_processed = self._gone[slot.task]
        return track

    def _drop(self, track: TaskTrack) -> TaskTrack:
        del self.tracks[track.slot]
        if track.task is not None:
            self._remember(track.task, track.n_decoded, track.n_processed)
        return track

    def _remember(self, task: int, decoded: int | None, processed: int | None) -> None:
        self._gone.pop(task, None)
        self._gone[task] = (decoded, processed)
        if len(self._gone) > REMEMBERED:
            del self._gone[next(iter(self._gone))]

    def _processed(self, growth: Growth, at: float) -> None:
        if growth.processed_since is not None:
            self.processed.add(growth.processed_since, at, growth.processed)

    def complete(self, events: Iterable[Event]) -> None:
        """Count what tasks did between the last look and their end; ignore events before the first answer."""
        if self._at is None:
            return
        for event in events:
            if isinstance(event, TaskEnded):
                self._complete(event, max(event.time, self._at))

    def _complete(self, event: TaskEnded, at: float) -> None:
        track = self.tracks.get(event.slot)
        if track is None or track.task != event.task:
            decoded, processed = self._gone.get(event.task, (0, 0))
        else:
            begun = 0 if track.begun else None
            decoded = begun if track.n_decoded is None else track.n_decoded
            processed = begun if track.n_processed is None else track.n_processed
        if event.reason != "unseen":
            self.unseen.told(event.task)
        total = _whole_prompt(event)
        self._count(self.generated, decoded, event.n_decoded, at)
        self._count(self.processed, processed, total, at)
        decoded, processed = _most(decoded, event.n_decoded), _most(processed, total)
        self._remember(event.task, decoded, processed)
        if track is not None and track.task == event.task:
            track.n_decoded, track.n_processed = decoded, processed

    def _count(self, throughput: Throughput, known: int | None, total: int | None, at: float) -> None:
        if known is not None and total is not None and self._at is not None:
            throughput.add(self._at, at, total - known)

    def rates(self, slots: Sequence[SlotView]) -> Iterator[tuple[int, SlotRate]]:
        """Each slot's speeds; an idle slot has none."""
        at = self._at
        working = any(track.progress_at == at and track.first_at != at for track in self.tracks.values())
        after = PREFILL_AFTER if any(slot.state is SlotState.PROMPT for slot in slots) else STALL_AFTER
        for slot in slots:
            track = self.tracks.get(slot.id)
            if track is None:
                yield slot.id, _NO_RATE
            else:
                yield slot.id, track.rate(slot, math.inf if working and not has_begun(slot) else after)

    def generation_rate(self) -> float | None:
        """Tokens per second of all slots together; None if a generating slot does not report its count."""
        if self._at is None or any(track.sampled and track.n_decoded is None for track in self.tracks.values()):
            return None
        return self._speed(self.generated, self.unseen.generated)

    def prompt_rate(self, slots: Iterable[SlotView]) -> float | None:
        """Prompt tokens per second of all slots together; None while a task runs whose prompt is not reported."""
        at = self._at
        if at is None or any(track.n_processed is None for track in self.tracks.values()):
            return None
        if any(self._is_silent(slot, at) for slot in slots if slot.state is SlotState.PROMPT):
            return None
        return self._speed(self.processed, self.unseen.processed)

    def _speed(self, throughput: Throughput, at_least: bool) -> float | None:
        """A throughput; "at least 0" says nothing."""
        rate = None if self._at is None else throughput.rate(self._at)
        return None if at_least and not rate else rate

    def _is_silent(self, slot: SlotView, at: float) -> bool:
        track = self.tracks.get(slot.id)
        return track is None or track.n_processed is None or at - track.progress_at > WINDOW


def _whole_prompt(event: TaskEnded) -> int | None:
    """Prompt tokens a task processed, where it got as far as an answer; one refused or given up before did fewer."""
    if not event.n_decoded or event.n_prompt is None or event.n_cached is None:
        return None
    return event.n_prompt - event.n_cached


def _most(known: int | None, total: int | None) -> int | None:
    return total if known is None else known if total is None else max(known, total)
