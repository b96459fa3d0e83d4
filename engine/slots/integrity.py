"""Invariants of the core between two iterations."""

from __future__ import annotations

from .slot import Phase, Slot
from .state import CoreState

__all__ = ["check_integrity"]


def check_integrity(state: CoreState) -> None:
    """Assert that token lists mirror the cells and that every task is in one place."""
    state.cache.check()
    for slot in state.slots:
        assert 0 <= slot.n_tokens <= slot.n_ctx, f"slot {slot.id} holds {slot.n_tokens} of {slot.n_ctx} tokens"
        assert slot.phase == Phase.STARTED or slot.sequence.end == slot.n_tokens or _may_differ(slot), (
            f"slot {slot.id}: {slot.n_tokens} tokens but {slot.sequence.n} cells"
        )
        assert (slot.job is None) == (slot.phase == Phase.IDLE), f"slot {slot.id}: task and phase disagree"
    running = [slot.job.task for slot in state.busy() if slot.job is not None]
    tasks = running + [job.task for job in state.queue.waiting()]
    assert len(set(tasks)) == len(tasks), "a task is in two places"


def _may_differ(slot: Slot) -> bool:
    """A child may lack a part of its parent's prompt; a slot restored from an empty one's file keeps its cells."""
    return slot.n_tokens == 0 if slot.job is None else slot.job.parent is not None
