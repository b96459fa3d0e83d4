"""A recording as a backend: the same screen over the past, at any speed."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable
from concurrent.futures import Future
from itertools import accumulate
from pathlib import Path
from typing import NoReturn

from msgspec.structs import replace

from slotview.engine.backend import (
    BackendError,
    Capabilities,
    FireRequest,
    RetunePreview,
    RetuneReport,
    SlotAction,
    SlotActionResult,
    Ticket,
    failed,
)
from slotview.engine.context import LaunchFlags
from slotview.engine.events import EventBatch, Notice
from slotview.engine.snapshot import Health, HealthState, SlotDetails, Snapshot

from .reader import load_recording

__all__ = ["ReplayBackend"]

_REFUSAL = "this is a recording: it can be watched, not changed"


class ReplayBackend:
    """Implements `Backend` over a file. Raises `BackendError` if it cannot be read.

    ``clock`` returns seconds. Once the end is reached, `look_now` starts over. Times are those of the recording.
    """

    def __init__(self, path: str | Path, speed: float = 1.0, clock: Callable[[], float] = time.monotonic) -> None:
        if not 0 < speed < float("inf"):
            raise BackendError(f"a recording cannot be played at speed {speed:g}; use a number above 0")
        self._recording = load_recording(path)
        self._speed, self._clock = speed, clock
        frames = self._recording.frames
        self._times = list(accumulate((frame.snapshot.time for frame in frames), max))
        self._counts = list(accumulate(len(frame.events) for frame in frames))
        self._events = tuple(event for frame in frames for event in frame.events)
        self._began: float | None = None

    @property
    def capabilities(self) -> Capabilities:
        """It can only be replayed."""
        return Capabilities(replay=True)

    @property
    def flags(self) -> LaunchFlags:
        """The launch flags, as far as the recording holds them."""
        facts = self._recording.frames[0].snapshot.facts
        return LaunchFlags(
            ctx_size=facts.n_ctx,
            parallel=-1 if facts.n_slots is None else facts.n_slots,
            kv_unified=bool(facts.unified),
        )

    def start(self) -> None:
        """Start to play."""
        self._began = self._clock()

    def _now(self) -> float:
        """The current time on the recording's clock."""
        played = 0.0 if self._began is None else (self._clock() - self._began) * self._speed
        return self._times[0] + max(0.0, played)

    def _index(self, now: float) -> int:
        return bisect_right(self._times, now) - 1

    def latest(self) -> Snapshot:
        """Return the snapshot that was the newest at this point of the recording."""
        now = self._now()
        snapshot = self._recording.frames[self._index(now)].snapshot
        if now < self._times[-1]:
            return replace(snapshot, time=max(now, snapshot.time), is_replayed=True)
        message = self._recording.note or f"end of the recording ({self._recording.seconds:.0f} s)"
        ended = Health(HealthState.ENDED, message, "press r to play it again", since=self._times[-1])
        return replace(snapshot, time=self._times[-1], health=ended, is_replayed=True)

    def events(self, after: int) -> EventBatch:
        """Return the events up to this point; the cursor counts them."""
        shown = self._counts[self._index(self._now())]
        if after > shown:  # it was started over
            return EventBatch((Notice(self._times[0], "the recording plays again"), *self._events[:shown]), shown)
        return EventBatch(self._events[max(0, after) : shown], shown)

    def look_now(self) -> None:
        """Start over if the end is reached."""
        if self._began is None or self._now() >= self._times[-1]:
            self.start()

    def submit(self, request: FireRequest) -> list[Ticket]:
        """Refused."""
        _refuse()

    def details(self, slot: int) -> Future[SlotDetails]:
        """A recording holds no more than its snapshots."""
        future: Future[SlotDetails] = Future()
        future.set_result(SlotDetails(slot, note="a recording keeps no parameters and no text"))
        return future

    def preview(self, flags: LaunchFlags) -> RetunePreview:
        """Say that nothing can be changed."""
        return RetunePreview(flags, error=_REFUSAL)

    def retune(self, flags: LaunchFlags) -> Future[RetuneReport]:
        """Refused."""
        return failed(_REFUSAL)

    def slot_action(self, action: SlotAction, slot: int, filename: str | None = None) -> Future[SlotActionResult]:
        """Refused."""
        return failed(_REFUSAL)

    def set_interval(self, seconds: float) -> None:
        """Nothing to do: a recording keeps its own pace."""

    def choose_model(self, name: str) -> None:
        """Refused."""
        _refuse()

    def close(self) -> None:
        """Nothing to stop."""


def _refuse() -> NoReturn:
    raise BackendError(_REFUSAL)
