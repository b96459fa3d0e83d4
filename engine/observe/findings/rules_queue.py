"""Findings about requests that wait, and why."""

from __future__ import annotations

from slotview.engine.context import MAX_SLOTS
from slotview.engine.snapshot import SlotView, WaitingRequest
from slotview.engine.text.plural import plural

from ..observation import Finding
from ..words import ids
from .scene import Rule, Scene

__all__ = ["RULES"]

QUEUE = "queue"
LOOK_BACK = 30.0  # seconds over which "busy lately" is averaged


def all_busy(scene: Scene) -> Finding | None:
    """Every slot is busy and requests wait: an ordinary queue."""
    snapshot = scene.snapshot
    n = snapshot.facts.n_slots if snapshot.slots is None else len(snapshot.slots)  # not every server shows its slots
    busy = snapshot.busy
    if not busy or not n or busy < n or not scene.waiting:
        return None
    return Finding(
        "all-busy",
        f"{_wait(scene.waiting)} for {'the only slot' if n == 1 else f'one of {n} slots'}",
        f"{busy} of {n} slots busy, {scene.waiting} waiting",
        f"more slots (-np {n + 1} or above) start them sooner; give -c room for each"
        if n < MAX_SLOTS
        else f"more than {MAX_SLOTS} slots there cannot be: shorter answers (-n) or another server",
        "information",
    )


def batch_not_ended(scene: Scene) -> Finding | None:
    """Slots of a static batch are done, and stay idle until its last request has ended."""
    if not _is_static(scene) or not scene.waiting or not scene.idle or not scene.busy:
        return None
    return Finding(
        "batch-not-ended",
        f"{_wait(scene.waiting)} while {ids(scene.idle)} {_be(scene.idle)} idle: the batch has not ended",
        f"static batching: {ids(scene.busy)} of the batch still {'works' if len(scene.busy) == 1 else 'work'}",
        "with continuous batching (--batching continuous) a request takes a slot as soon as one is free",
        slots=tuple(slot.id for slot in scene.idle),
    )


def idle_beside_waiting(scene: Scene) -> Finding | None:
    """Requests wait although a slot is idle; at least one is not pinned to a busy slot, or the pins are unknown.

    Each released slot tries one request only (spec §5.5). If that is pinned to a busy slot, it goes back to the end of
    the queue, and no other is tried.
    """
    if _is_static(scene) or not scene.waiting or not scene.idle or not scene.busy:
        return None
    idle, queue = scene.idle, scene.queue
    pinned = [(request, slot) for request in queue if (slot := _pinned_to_busy(scene, request)) is not None]
    if queue and len(pinned) == len(queue):
        return None
    evidence = f"{ids(idle)} idle, {scene.waiting} waiting"
    advice = "look for requests with id_slot or n above 1: they hold up those behind them"
    if pinned:
        request, slot = pinned[0]
        who = f"head of queue (task {request.task})" if request is queue[0] else f"task {request.task}"
        evidence += f"; {who} pinned to busy slot {slot.id}"
        advice = "send requests without id_slot: one whose slot is busy holds up all others"
    return Finding(
        "idle-beside-waiting",
        f"{_wait(scene.waiting)} while {ids(idle)} {_be(idle)} idle",
        evidence,
        advice,
        slots=tuple(slot.id for slot in idle),
    )


def pins_leave_idle(scene: Scene) -> Finding | None:
    """All waiting requests are pinned to busy slots while other slots are idle."""
    queue, idle = scene.queue, scene.idle
    pinned = {slot.id: slot for request in queue if (slot := _pinned_to_busy(scene, request)) is not None}
    if _is_static(scene) or not queue or not idle or not all(_pinned_to_busy(scene, request) for request in queue):
        return None
    return Finding(
        "pins-leave-idle",
        f"pins hold {plural(len(queue), 'request')} at {ids(pinned.values())} while {ids(idle)} {_be(idle)} idle",
        f"{len(queue)} waiting, all with id_slot {', '.join(str(slot) for slot in sorted(pinned))}",
        "leave id_slot out, or spread the ids over all slots",
        slots=tuple(sorted(pinned)),
    )


def serial_work(scene: Scene) -> Finding | None:
    """Requests wait although a slot is idle, and hardly more than one works at a time: more slots would not help."""
    n, average = len(scene.slots), scene.snapshot.totals.busy_per_decode
    lately = _busy_lately(scene)
    if (
        n < 2
        or _is_static(scene)
        or not scene.waiting
        or not scene.idle
        or average is None
        or lately is None
        or average > 1.3
        or lately > 1.5
    ):
        return None
    return Finding(
        "serial-work",
        "concurrency is not the bottleneck: about one slot works at a time",
        f"average busy {average:.2f} of {n} slots, {scene.waiting} waiting",
        "more slots would not help; look at pins, and at clients that send one by one",
    )


def _busy_lately(scene: Scene) -> float | None:
    """Average number of busy slots over the last `LOOK_BACK` seconds."""
    seen: list[int] = []
    for point in reversed(scene.history):
        if point.time < scene.snapshot.time - LOOK_BACK or point.busy is None:
            break
        seen.append(point.busy)
    return sum(seen) / len(seen) if seen else None


def _pinned_to_busy(scene: Scene, request: WaitingRequest) -> SlotView | None:
    """The busy slot a request is pinned to; ids wrap around (spec §5.2)."""
    if request.id_slot is None or request.id_slot == -1 or not scene.slots:
        return None
    slot = scene.slots[request.id_slot % len(scene.slots)]
    return slot if slot.is_busy else None


def _is_static(scene: Scene) -> bool:
    """Whether batching is static; idle slots then say nothing about pins."""
    return scene.snapshot.facts.batching == "static"


def _wait(number: int) -> str:
    return f"{plural(number, 'request')} {'waits' if number == 1 else 'wait'}"


def _be(slots: list[SlotView]) -> str:
    return "is" if len(slots) == 1 else "are"


RULES = (
    Rule(batch_not_ended, after=0.5, linger=0.0, subject=QUEUE),
    Rule(idle_beside_waiting, after=2.0, subject=QUEUE),
    Rule(pins_leave_idle, after=2.0, subject=QUEUE),
    Rule(serial_work, after=5.0, subject=QUEUE),
    Rule(all_busy, after=3.0, linger=1.0, subject=QUEUE),
)
