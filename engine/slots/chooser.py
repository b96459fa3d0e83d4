"""Which slot a request gets (spec §5.2)."""

from __future__ import annotations

import numpy as np

from ..events import HowChosen, SlotChosen
from .prompt.prefix import common_prefix
from .prompt.store import PromptStore
from .queue.job import CompletionJob
from .slot import Slot
from .state import CoreState

__all__ = ["Chooser", "pinned_slot"]

HALF = np.float32(0.5)


def pinned_slot(id_slot: int, n_slots: int) -> int:
    """The slot an ``id_slot`` means: ids wrap as unsigned 64-bit numbers do."""
    return id_slot % 2**64 % n_slots


class Chooser:
    """By pin, by common prefix, by last use; then the prompt store may swap the slot's content."""

    def __init__(self, state: CoreState) -> None:
        self._state = state
        self._slots = state.slots
        self._threshold = np.float32(state.options.slot_prompt_similarity)
        self._store = state.store
        self._log = state.log

    def choose(self, job: CompletionJob, now: int) -> Slot | None:
        """Return an idle slot, or None when there is none or the pinned one is busy (which is then left alone)."""
        slot, swap, sim, keep = None, False, None, None
        how: HowChosen = "id"
        if job.pin != -1:
            slot = self._slots[pinned_slot(job.pin, len(self._slots))]
            self._log.slot("I", "get_available_slot", slot, f"selected slot by id ({job.pin})")
            if slot.is_processing:
                return None
        if self._threshold != 0:
            similar, best = self._most_similar(job)
            if similar is not None:
                slot, how, sim = similar, "id" if job.pin != -1 else "lcp", float(best)
            if slot is not None:
                kept = self._kept(slot, job, best)
                keep = None if np.isnan(kept) else float(kept)
                swap = bool(kept < HALF)
        if slot is None:
            slot, swap, how = self._least_recently_used(), True, "lru"
        if slot is None:
            return None
        self._state.tell(SlotChosen(now / 1e6, slot.id, job.task, how, sim, keep))
        if swap and self._store is not None:
            self._swap(slot, job, self._store)
        return slot

    def _most_similar(self, job: CompletionJob) -> tuple[Slot | None, np.float32]:
        """Step 2: the longest common prefix, relative to the new prompt; strictly above the threshold."""
        log, found, best, n = self._log, None, np.float32(0), len(job.prompt)
        for slot in self._slots:
            if job.pin not in (-1, slot.id):
                continue
            if slot.is_processing:
                log.slot("T", "get_available_slot", slot, " - skipping, is_processing = 1")
                continue
            if slot.n_tokens == 0:
                log.slot("T", "get_available_slot", slot, " - skipping, slot is empty")
                continue
            same = common_prefix(slot.held, job.prompt)
            sim = np.float32(same) / np.float32(n) if n else np.float32(np.nan)
            if log.trace:
                shown = f"{sim:.3f}" if n else "-nan"
                text = f" - checking sim = {shown} ({same}/{n}) > {self._threshold:.3f}"
                log.slot("T", "get_available_slot", slot, text)
            if sim > best and sim > self._threshold:
                found, best = slot, sim
        return found, best

    def _kept(self, slot: Slot, job: CompletionJob, best: np.float32) -> np.float32:
        """The part of the slot's content that would stay; not a number for an empty slot (0/0)."""
        if slot.n_tokens == 0:
            return np.float32(np.nan)
        kept = best * np.float32(len(job.prompt)) / np.float32(slot.n_tokens)
        if job.pin == -1:
            text = f"f_sim_best = {best:.3f} (> {self._threshold:.3f} thold), f_keep = {kept:.3f}"
            self._log.slot("I", "get_available_slot", slot, f"selected slot by LCP similarity, {text}")
        return kept

    def _least_recently_used(self) -> Slot | None:
        """Step 3: of equal times the highest id."""
        found = None
        for slot in self._slots:
            if not slot.is_processing and (found is None or slot.t_last_used <= found.t_last_used):
                found = slot
        if found is not None:
            self._log.slot("I", "get_available_slot", found, f"selected slot by LRU, t_last = {found.t_last_used}")
        return found

    def _swap(self, slot: Slot, job: CompletionJob, store: PromptStore) -> None:
        """Step 4: save what the slot holds, and load what suits the prompt better."""
        self._log.srv("T", "get_available_slot", "updating prompt cache")
        store.save(slot)
        if not store.load_better(slot, job.prompt):
            self._state.clear(slot)
        store.trim()
        self._log.srv("T", "get_available_slot", "prompt cache update took 0.00 ms")
