"""What happened between two answers of /slots, and whether the server began anew in between."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ..events import Event, TaskEnded, TaskStarted
from ..snapshot import SlotState, SlotView, Totals

__all__ = ["ids_began_again", "lost_tasks", "task_events", "totals_fell", "totals_moved"]

Slots = tuple[SlotView, ...]


def task_events(before: Slots, after: Slots, now: float) -> Iterator[Event]:
    """Tasks that began and ended, as far as two looks show; how one ended is not told, so it is "unseen"."""
    old: Mapping[int, SlotView] = {slot.id: slot for slot in before}
    yield from lost_tasks(tuple(old[id_] for id_ in old.keys() - {slot.id for slot in after}), now)
    for slot in after:
        was = old.get(slot.id)
        same_task = was is not None and was.task == slot.task
        if was is not None and was.is_busy and was.task is not None and not (same_task and slot.is_busy):
            yield _ended(was, was.task, now)
        if slot.task is None or (was is None and not slot.is_busy):
            continue
        if not same_task or (slot.is_busy and was is not None and not was.is_busy):
            yield TaskStarted(now, slot.id, slot.task, waited=None, n_prompt=slot.n_prompt)
            if not slot.is_busy:
                yield TaskEnded(now, slot.id, slot.task, "unseen")


def lost_tasks(before: Slots, now: float) -> Iterator[Event]:
    """End what was running when the server, or a slot of it, went away."""
    return (_ended(slot, slot.task, now) for slot in before if slot.is_busy and slot.task is not None)


def _ended(slot: SlotView, task: int, now: float) -> TaskEnded:
    return TaskEnded(
        now,
        slot.id,
        task,
        "unseen",
        n_decoded=slot.n_decoded,
        n_cached=slot.n_prompt_cached,
        truncated=slot.truncated,
    )


def ids_began_again(before: Slots, after: Slots) -> bool:
    """Whether all task ids lie below all of those before, or used slots are unused again.

    A waiting task may start after a younger one (spec §5.5), so a single lower id proves nothing.
    """
    states = {slot.id: slot.state for slot in before}
    if any(slot.state is SlotState.UNUSED and states.get(slot.id, slot.state) is not slot.state for slot in after):
        return True
    old, new = list(_tasks(before)), list(_tasks(after))
    return bool(old and new) and max(new) < min(old)


def _tasks(slots: Iterable[SlotView]) -> Iterator[int]:
    return (slot.task for slot in slots if slot.task is not None)


def totals_fell(before: Totals, after: Totals) -> bool:
    """Whether a counter went back, which it only does when the server starts again."""
    return any(new < old for old, new in _counters(before, after))


def totals_moved(before: Totals, after: Totals) -> bool:
    """Whether the server did anything in between."""
    return any(new != old for old, new in _counters(before, after))


def _counters(before: Totals, after: Totals) -> Iterator[tuple[float, float]]:
    pairs = (
        (before.predicted_tokens, after.predicted_tokens),
        (before.prompt_tokens, after.prompt_tokens),
        (before.decodes, after.decodes),
    )
    return ((old, new) for old, new in pairs if old is not None and new is not None)
