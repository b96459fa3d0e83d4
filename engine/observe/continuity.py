"""Whether two snapshots belong together: restarts, gaps, and answers that say nothing new."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from ..restart_signs import ids_fell, slots_are_fresh
from ..snapshot import HealthState, SlotView, Snapshot, Totals

__all__ = ["Remains", "answered_at", "expected_gap", "has_gap", "has_restarted", "is_current", "is_new", "is_same_run"]

SILENCE = 5.0  # seconds without an answer that leave a gap in a chart, at the usual polling interval


class Remains(Struct, frozen=True):
    """What a snapshot still shows of a run of the server that is over, until it is read anew."""

    totals: Totals | None = None
    run: str | None = None
    slots_at: float | None = None

    @classmethod
    def of(cls, last: Snapshot, new: Snapshot) -> Remains:
        """What is the same in the last snapshot of one run and the first one of the next."""
        return cls(
            totals=new.totals if new.totals == last.totals else None,
            run=new.facts.run if new.facts.run == last.facts.run else None,
            slots_at=new.slots_at if new.slots_at == last.slots_at else None,
        )

    def without(self, snapshot: Snapshot) -> Snapshot:
        """The snapshot, but for counters and marks that remain."""
        if snapshot.totals == self.totals:
            snapshot = replace(snapshot, totals=Totals())
        if snapshot.facts.run is not None and snapshot.facts.run == self.run:
            snapshot = replace(snapshot, facts=replace(snapshot.facts, run=None))
        return snapshot


def answered_at(snapshot: Snapshot) -> float:
    """When the server reported the snapshot's data, rather than when somebody looked at it."""
    return snapshot.time if snapshot.slots_at is None else snapshot.slots_at


def is_current(snapshot: Snapshot) -> bool:
    """Whether the slots are up to date: the server answers, or did until one bad answer, or a recording has just
    reached its end.
    """
    health = snapshot.health
    if health.state is HealthState.ERROR:
        return snapshot.slots is not None and (snapshot.age or 0.0) < SILENCE
    return health.state is HealthState.OK or (health.state is HealthState.ENDED and health.since == snapshot.time)


def expected_gap(snapshot: Snapshot) -> float:
    """Seconds until the next answer is due; 0 for the embedded engine, which always answers."""
    poll = snapshot.poll
    if poll is None:
        return 0.0
    return max(poll.interval, poll.idle_gap or 0.0)


def is_new(old: Snapshot, new: Snapshot) -> bool:
    """Whether an answer arrived in between; if the time of the slots is the same, they say nothing new."""
    if (new.slots is None) != (old.slots is None):
        return True
    if new.slots is None or new.slots_at is None:
        return new.serial != old.serial
    return new.slots_at != old.slots_at


def has_gap(old: Snapshot, new: Snapshot) -> bool:
    """Whether so much time passed between two answers that a line drawn between them would be made up.

    The embedded engine always answers: a long time between two of its snapshots is one long step.
    """
    if new.poll is None:
        return False
    elapsed = answered_at(new) - answered_at(old)
    return elapsed > max(SILENCE, 3 * max(expected_gap(old), expected_gap(new)))


def has_restarted(old: Snapshot, new: Snapshot) -> bool:
    """Whether two answers are from different runs of a server, or from different servers."""
    if new.time < old.time or (old.facts.source and old.facts.source != new.facts.source):
        return True
    if old.slots is None or new.slots is None:
        return False
    if old.slots_at is not None and new.slots_at is not None and new.slots_at < old.slots_at:
        return True
    if _ids(old.slots) != _ids(new.slots) or slots_are_fresh(old.slots, new.slots):
        return True
    if old.facts.run is not None and new.facts.run is not None:
        return old.facts.run != new.facts.run
    if old.totals.decodes and new.totals.decodes:
        return False  # counters fall; lower ids prove less, as a pinned request may overtake all that wait (spec §5.5)
    return ids_fell(old.slots, new.slots)


def is_same_run(old: Snapshot, new: Snapshot) -> bool:
    """Whether the server's own mark says that it was not started anew; fresh slots then mean that its model was."""
    return old.facts.run is not None and old.facts.run == new.facts.run


def _ids(slots: Iterable[SlotView]) -> set[int]:
    return {slot.id for slot in slots}
