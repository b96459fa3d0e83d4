"""Discarding old tokens so that a generation can go on: ``--context-shift`` (spec §6.2)."""

from __future__ import annotations

from slotview.engine.events import ContextShifted

from ..slot import GENERATING, Slot
from ..state import CoreState
from .ending import Endings

__all__ = ["ContextShift"]

SHARED = "context shift cannot be used for shared prompt"


class ContextShift:
    """Runs before a batch is built."""

    def __init__(self, state: CoreState, endings: Endings) -> None:
        self._state = state
        self._endings = endings

    def run(self) -> None:
        """Shift every generating slot whose context is full."""
        for slot in self._state.slots:
            if slot.phase == GENERATING and slot.n_tokens + 1 >= slot.n_ctx:
                self._shift(slot)

    def _shift(self, slot: Slot) -> None:
        """Shift one slot, or end its task where that cannot be done."""
        job = slot.job
        assert job is not None
        if job.parent is not None or job.children:
            self._endings.fail(slot, SHARED)
            return
        n_keep = self._n_keep(slot, job.n_prompt, job.params.n_keep)
        n_left = slot.n_tokens - n_keep
        n_discard = min(job.params.n_discard or n_left // 2, n_left - 1)
        text = f"slot context shift, n_keep = {n_keep}, n_left = {n_left}, n_discard = {n_discard}"
        self._state.log.slot("W", "operator()", slot, text)
        if not self._discard(slot, n_keep, n_discard):
            self._endings.fail(slot, "Context size has been exceeded.")
            return
        slot.truncated = True
        self._state.tell(ContextShifted(self._state.now / 1e6, slot.id, job.task, n_keep, n_left, n_discard))

    def _n_keep(self, slot: Slot, n_prompt: int, asked: int) -> int:
        """Tokens at the beginning that stay: ``asked``, below 0 the whole prompt, and the beginning-of-text token."""
        n_keep = n_prompt if asked < 0 else asked
        if self._state.tokenizer.add_bos:
            n_keep += 1
        return min(n_keep, slot.n_ctx - 4)

    def _discard(self, slot: Slot, n_keep: int, n_discard: int) -> bool:
        """Drop tokens and move those after them down; False, and the slot is empty, where no cell is free for that."""
        cache, n = self._state.cache, slot.n_tokens
        cache.remove(slot.id, n_keep, n_keep + n_discard)
        if not cache.move(slot.id, n_keep + n_discard, n, -n_discard):
            cache.remove(slot.id)
            slot.n_tokens = 0
            return False
        slot.tokens[n_keep : n - n_discard] = slot.tokens[n_keep + n_discard : n].copy()
        slot.n_tokens = n - n_discard
        return True
