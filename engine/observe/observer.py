"""From snapshots and events to conclusions: once per refresh, in constant memory."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from msgspec.structs import replace

from ..events import Event, Retuned
from ..restart_signs import counters_fell
from ..snapshot import EMPTY, HealthState, Snapshot
from .continuity import Remains, answered_at, has_gap, has_restarted, is_new, is_same_run
from .findings.memory import Memory
from .findings.scene import Scene
from .findings.table import RULES, FindingKeeper
from .follow import Follower
from .history import CAPACITY, History
from .observation import NOTHING_OBSERVED, Observation, Point

__all__ = ["Observer"]


class _Life:
    """Everything that belongs to one run of the server and ends with it."""

    def __init__(self, follower: Follower | None = None) -> None:
        self._speeds = NOTHING_OBSERVED
        self._follower = follower or Follower()
        self._memory = Memory()
        self._keeper = FindingKeeper(RULES)
        self._slots: tuple[int, ...] = ()

    def after_retune(self) -> _Life:
        """The next life, in which the tasks of this one go on."""
        return _Life(self._follower.after_retune())

    def note(self, events: Sequence[Event]) -> None:
        """Take in what happened since the last look."""
        self._memory.note(events)
        self._follower.complete(events)

    def answer(self, snapshot: Snapshot) -> None:
        """Take in a new report about the slots, or that they are not reported."""
        if snapshot.slots is None:
            self._speeds = NOTHING_OBSERVED
            return
        follower = self._follower
        self._memory.answer(snapshot, follower.answer(snapshot))
        self._speeds = Observation(
            rates=MappingProxyType(dict(follower.rates(snapshot.slots))),
            prompt_rate=follower.prompt_rate(snapshot.slots),
            generation_rate=follower.generation_rate(),
            prompt_at_least=follower.unseen.processed,
            generation_at_least=follower.unseen.generated,
        )

    def point(self, snapshot: Snapshot, *, break_before: bool) -> Point:
        """The current moment, for the charts."""
        speeds = self._speeds
        slots = tuple(speeds.rates)
        if slots != self._slots:
            self._slots = slots
        return Point(
            time=answered_at(snapshot),
            busy=snapshot.busy,
            waiting=snapshot.waiting.count,
            prompt_rate=speeds.prompt_rate,
            generation_rate=speeds.generation_rate,
            prompt_at_least=speeds.prompt_at_least,
            generation_at_least=speeds.generation_at_least,
            pool_used=snapshot.pool.used,
            slots=self._slots,  # all points share it
            slot_rates=tuple([rate.generation for rate in speeds.rates.values()]),
            break_before=break_before,
        )

    def conclude(self, snapshot: Snapshot, points: tuple[Point, ...], restarts: int) -> Observation:
        """All conclusions; ``points`` are those of this life and of those before."""
        follower, rates = self._follower, self._speeds.rates
        scene = Scene(snapshot, rates, follower.tracks, self._memory, points, follower.n_begun)
        return replace(
            self._speeds,
            history=points,
            findings=self._keeper.update(scene),
            restarts=restarts,
            ended=tuple(departure.event for departure in self._memory.departures.latest()),
        )


class Observer:
    """Watches one backend; call it once per refresh. ``capacity``: points of history kept. Not thread-safe."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._history = History(capacity)
        self._life = _Life()
        self._answered: Snapshot | None = None
        self._seen = EMPTY
        self._remains = Remains()
        self._slept = False
        self._broken = False
        self._restarts = 0

    def observe(self, snapshot: Snapshot, events: Sequence[Event] = ()) -> Observation:
        """Take in the newest snapshot and the events since the last call; return all conclusions."""
        self._check_continuity(snapshot, events)
        life = self._life
        life.note(events)
        if self._is_answer(snapshot):
            self._broken |= self._answered is not None and has_gap(self._answered, snapshot)
            life.answer(snapshot)
            self._history.add(life.point(snapshot, break_before=self._broken))
            self._answered, self._broken = self._remains.without(snapshot), False
        return life.conclude(snapshot, self._history.points, self._restarts)

    def _is_answer(self, snapshot: Snapshot) -> bool:
        """Whether the slots were reported anew, and by the present run of the server."""
        if self._answered is None:
            return snapshot.slots_at is None or snapshot.slots_at != self._remains.slots_at
        return is_new(self._answered, snapshot)

    def _check_continuity(self, snapshot: Snapshot, events: Sequence[Event]) -> None:
        """Start afresh if the server did. A retune, or a model that woke up, does not count as a restart, nor does a
        recording that plays again.
        """
        self._slept |= snapshot.health.state is HealthState.ASLEEP
        plays_again = snapshot.is_replayed and snapshot.time < self._seen.time
        if plays_again:
            self._restarts = 0
        new = self._remains.without(snapshot)
        retuned = any(isinstance(event, Retuned) for event in events)
        if retuned or self._is_another_run(new):
            goes_on = retuned or is_same_run(self._answered or EMPTY, new)  # so far; the mark may be read later
            self._restarts += not (goes_on or plays_again or self._slept or snapshot.poll is None)
            self._remains = Remains() if goes_on else Remains.of(self._seen, snapshot)
            self._life = self._life.after_retune() if retuned else _Life()
            self._answered, self._broken = None, True
            new = self._remains.without(snapshot)
        if snapshot.health.state is HealthState.OK:
            self._slept = False
        self._seen = new

    def _is_another_run(self, new: Snapshot) -> bool:
        """Whether counters or slots began again."""
        if counters_fell(self._seen.totals, new.totals):
            return True
        return self._answered is not None and has_restarted(self._answered, new)
