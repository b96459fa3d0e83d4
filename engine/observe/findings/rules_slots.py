"""Findings about single slots at work, and about slots that are never used."""

from __future__ import annotations

from collections import Counter

from slotview.engine.context import pad256
from slotview.engine.snapshot import HealthState, SlotState, SlotView
from slotview.engine.text.plural import plural

from ..continuity import answered_at
from ..observation import Finding
from ..words import count, duration, ids
from .scene import Rule, Scene

__all__ = ["RULES"]

LONG = 300.0  # seconds after which an unlimited generation is worth mentioning
MANY = 1024  # tokens, likewise


def no_progress(scene: Scene) -> Finding | None:
    """A busy slot whose task and counts do not change while the server answers."""
    if scene.snapshot.health.state is not HealthState.OK:
        return None
    stuck = [slot for slot in scene.busy if _stalled(scene, slot)]
    if not stuck:
        return None
    worst = max(stuck, key=lambda slot: _stalled(scene, slot))
    time = duration(_stalled(scene, worst))
    more = f", and in {plural(len(stuck) - 1, 'more slot')}" if len(stuck) > 1 else ""
    return Finding(
        "no-progress",
        f"no progress for {time} (task {_task(worst)}) in slot {worst.id}{more}",
        f"unchanged for {time}: {_counts(worst)}",
        "cancel the request; if the slot stays busy, restart the server",
        "error",
        slots=tuple(slot.id for slot in stuck),
    )


def unlimited(scene: Scene) -> Finding | None:
    """A generation without a limit has been running for a long time."""
    now = answered_at(scene.snapshot)
    for slot in scene.busy:
        track = scene.tracks.get(slot.id)
        if track is None or not slot.unlimited or not slot.n_decoded or _stalled(scene, slot):
            continue
        seconds = now - (track.first_at if track.started_at is None else track.started_at)
        how = "running" if track.started_at is not None and track.doubt <= 0.05 * seconds else "watched"
        if slot.n_decoded > (slot.n_ctx or 1 << 62) or (seconds >= LONG and slot.n_decoded >= MANY):
            return Finding(
                "unlimited",
                f"slot {slot.id} generates without a limit (task {_task(slot)})",
                f"{count(slot.n_decoded)} decoded, no limit, {how} for {duration(seconds)}",
                "set n_predict in the request, or -n at the server",
                slots=(slot.id,),
            )
    return None


def shifting(scene: Scene) -> Finding | None:
    """A slot keeps discarding its oldest tokens so that it can go on (spec §6.2)."""
    told = Counter((shift.slot, shift.task) for shift in scene.memory.shifts)
    for slot in scene.busy:
        track = scene.tracks.get(slot.id)
        n_told, n_seen = told[slot.id, -1 if slot.task is None else slot.task], track.n_shifts if track else 0
        if max(n_told, n_seen) >= 2:
            times = f"{n_told} times" if n_told >= n_seen else f"at least {n_seen} times"
            return Finding(
                "context-shift",
                f"slot {slot.id} forgets its oldest tokens to go on (task {_task(slot)})",
                f"context shifted {times}; {_counts(slot)}",
                "limit the answer (n_predict), or give the slot a larger context",
                slots=(slot.id,),
            )
    return None


def never_used(scene: Scene) -> Finding | None:
    """Many tasks ran, and some slots never had one."""
    unused = [slot for slot in scene.slots if slot.state is SlotState.UNUSED]
    n = len(scene.slots)
    if not unused or len(unused) == n or scene.n_tasks < max(10, 4 * n):
        return None
    facts, left = scene.snapshot.facts, n - len(unused)
    gain = ""
    if facts.unified is False and facts.n_ctx is not None:
        gain = f": {count(pad256(facts.n_ctx // left))} tokens each"
    return Finding(
        "never-used",
        f"{ids(unused)} never had a task",
        f"{plural(scene.n_tasks, 'task')} seen, {plural(left, 'slot')} did all the work",
        f"-np {left} would do{gain}",
        "information",
        slots=tuple(slot.id for slot in unused),
    )


def _stalled(scene: Scene, slot: SlotView) -> float:
    rate = scene.rates.get(slot.id)
    return 0.0 if rate is None or rate.stalled_for is None else rate.stalled_for


def _task(slot: SlotView) -> str:
    return "unknown" if slot.task is None else str(slot.task)


def _counts(slot: SlotView) -> str:
    told = (
        (slot.n_prompt_processed, "prompt tokens done"),
        (slot.n_decoded, "decoded"),
        (slot.n_tokens, f"of {count(slot.n_ctx)} held" if slot.n_ctx else "held"),
    )
    return ", ".join(f"{count(number)} {what}" for number, what in told if number is not None)


RULES = (
    Rule(no_progress, after=0.0, linger=1.0),
    Rule(unlimited),
    Rule(shifting, after=0.0),
    Rule(never_used, after=5.0),
)
