"""From snapshots and events to conclusions: once per refresh, in constant memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from ..events import Event, Retuned, TaskEnded
from ..restart_signs import counters_fell
from ..snapshot import EMPTY, HealthState, Snapshot
from .continuity import Remains, answered_at, has_gap, has_restarted, is_new, is_same_run
from .findings import RULES, FindingKeeper
from .follow import Follower
from .history import CAPACITY, History
from .memory import Memory
from .observation import Finding, Observation, Point, SlotRate
from .scene import Scene

__all__ = ["Observer"]

_NO_RATES: Mapping[int, SlotRate] = MappingProxyType({})


class _Life:
    """Everything that belongs to one run of the server and ends with it."""

    def __init__(self, follower: Follower | None = None) -> None:
        self.rates = _NO_RATES
        self.generation_rate: float | None = None
        self.prompt_rate: float | None = None
        self.generation_at_least = self.prompt_at_least = False
        self._follower = follower or Follower()
        self._memory = Memory()
        self._keeper = FindingKeeper(RULES)

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
            self.rates, self.generation_rate, self.prompt_rate = _NO_RATES, None, None
            self.generation_at_least = self.prompt_at_least = False
            return
        self._memory.answer(snapshot, self._follower.answer(snapshot))
        self.rates = MappingProxyType(dict(self._follower.rates(snapshot.slots)))
        self.generation_rate = self._follower.generation_rate()
        self.prompt_rate = self._follower.prompt_rate(snapshot.slots)
        self.generation_at_least = self._follower.unseen.generated
        self.prompt_at_least = self._follower.unseen.processed

    def point(self, snapshot: Snapshot, *, break_before: bool) -> Point:
        """The current moment, for the charts."""
        return Point(
            time=answered_at(snapshot),
            busy=snapshot.busy,
            waiting=snapshot.waiting.count,
            prompt_rate=self.prompt_rate,
            generation_rate=self.generation_rate,
            prompt_at_least=self.prompt_at_least,
            generation_at_least=self.generation_at_least,
            pool_used=snapshot.pool.used,
            slot_rates=MappingProxyType({slot: rate.generation for slot, rate in self.rates.items()}),
            break_before=break_before,
        )

    def findings(self, snapshot: Snapshot, points: Sequence[Point]) -> tuple[Finding, ...]:
        """The current findings."""
        follower = self._follower
        return self._keeper.update(Scene(snapshot, self.rates, follower.tracks, self._memory, points, follower.n_begun))

    def ended(self) -> tuple[TaskEnded, ...]:
        """The tasks that left recently."""
        return tuple(departure.event for departure in self._memory.departures.latest())


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
        return self._conclude(snapshot)

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
        anew = counters_fell(self._seen.totals, new.totals)
        anew |= self._answered is not None and has_restarted(self._answered, new)
        retuned = any(isinstance(event, Retuned) for event in events)
        if anew or retuned:
            self._life = self._life.after_retune() if retuned else _Life()
            self._broken = True
            is_own_doing = retuned or plays_again or self._slept or snapshot.poll is None
            is_same = anew and is_same_run(self._answered or EMPTY, new)  # so far; the mark may be read later
            self._restarts += not (is_own_doing or is_same)
            self._answered = None
            self._remains = Remains() if retuned or is_same else Remains.of(self._seen, snapshot)
            new = self._remains.without(snapshot)
        if snapshot.health.state is HealthState.OK:
            self._slept = False
        self._seen = new

    def _conclude(self, snapshot: Snapshot) -> Observation:
        life, points = self._life, self._history.points
        return Observation(
            rates=life.rates,
            prompt_rate=life.prompt_rate,
            generation_rate=life.generation_rate,
            prompt_at_least=life.prompt_at_least,
            generation_at_least=life.generation_at_least,
            history=points,
            findings=life.findings(snapshot, points),
            restarts=self._restarts,
            ended=life.ended(),
        )
