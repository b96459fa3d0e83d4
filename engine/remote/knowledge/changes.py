"""Which tasks began and ended between two answers of /slots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from slotview.engine.events import Event, TaskEnded, TaskStarted
from slotview.engine.snapshot import SlotState, SlotView

__all__ = ["lost_tasks", "task_events"]

Slots = tuple[SlotView, ...]


def task_events(before: Slots, after: Slots, now: float) -> Iterator[Event]:
    """Tasks that began or ended, as far as two looks show; how a task ended is not reported, hence "unseen"."""
    old: Mapping[int, SlotView] = {slot.id: slot for slot in before if slot.state is not SlotState.UNKNOWN}
    yield from lost_tasks(tuple(old[id_] for id_ in old.keys() - {slot.id for slot in after}), now)
    for slot in after:
        if slot.state is SlotState.UNKNOWN:
            continue
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
    """End the tasks that were running when the server, or one of its slots, went away."""
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
