"""Cutting the batch into decode calls and finding room for them (spec §3.3)."""

from __future__ import annotations

from collections.abc import Sequence

from slotview.engine.events import Notice, PoolFull, Purged
from slotview.engine.model.interface import SequenceRun

from ..slot import Slot
from ..state import CoreState
from .batch import Batch, Part, Piece
from .ending import Endings

__all__ = ["Decoding"]

FULL = "Context size has been exceeded."
BROKEN = "Compute error."
INVALID = "Invalid input batch."
GAP = """\
init: the tokens of sequence {slot} in the input batch have inconsistent sequence positions:
 - the last position stored in the memory module of the context (i.e. the KV cache) for sequence {slot} is X = {last}
 - the tokens for sequence {slot} in the input batch have a starting position of Y = {first}
 it is required that the sequence positions remain consecutive: Y = X + 1"""


class Decoding:
    """Walks through one batch: `load` it, then `cut` piece after piece."""

    def __init__(self, state: CoreState, endings: Endings) -> None:
        self._state = state
        self._endings = endings
        self._batch = Batch()
        self._offset = 0
        self._n_batch = 0

    def load(self, batch: Batch) -> None:
        """Begin with a new batch."""
        self._batch = batch
        self._offset = 0
        self._n_batch = self._state.plan.n_batch

    def advance(self, piece: Piece) -> None:
        """A piece was decoded: go on behind it, at full size again."""
        self._offset += piece.n_tokens
        self._n_batch = self._state.plan.n_batch

    def cut(self) -> Piece | None:
        """Place the next piece in cells; None at the end, or when all running tasks were ended for want of room."""
        while self._offset < self._batch.n_tokens:
            n = min(self._n_batch, self._batch.n_tokens - self._offset)
            parts = self._batch.piece(self._offset, n)
            torn = [slot for slot, first, _, _, _ in parts if slot.sequence.n_missing + slot.sequence.n != first]
            if torn:
                self._refuse(min(torn, key=lambda slot: slot.id))
                return None
            if self._state.cache.place([(slot.id, n_tokens) for slot, _, n_tokens, _, _ in parts]):
                return self._piece(n, parts)
            self._state.log.library("W", f"decode: failed to find a memory slot for batch of size {n}")
            if not self._make_room():
                return None
        return None

    def _piece(self, n: int, parts: Sequence[Part]) -> Piece:
        n_prompt = sum(n_tokens for _, _, n_tokens, _, is_prompt in parts if is_prompt)
        if n_prompt:
            self._state.metrics.begin_prompt(self._state.now)
        self._state.graphs.count(parts)
        runs = [_run(part) for part in parts]
        return Piece(n, n_prompt, len(self._state.busy()), n - n_prompt, parts, runs)

    def _refuse(self, slot: Slot) -> None:
        """Give up for a child that got only a part of its parent's prompt and cannot go on behind it (spec §3.2)."""
        log = self._state.log
        log.library("E", GAP.format(slot=slot.id, last=slot.sequence.end - 1, first=slot.n_tokens - 1))
        log.library("E", "decode: failed to initialize batch")
        why = f"slot {slot.id} got only a part of a prompt that several outputs share, as the pool was full"
        self.give_up(INVALID, -1, f"{why}: all running requests were ended")

    def _make_room(self) -> bool:
        """Purge one idle slot or halve the batch; False when neither is left."""
        if self._n_batch == 1:
            self.give_up(FULL, 1)
            return False
        if not self._purge_one():
            self._n_batch //= 2
        text = f"off = {self._offset}, n_batch = {self._n_batch}, ret = 1"
        wording = "failed to find free space in the KV cache, retrying with smaller batch size"
        self._state.log.srv("W", "decode", f"{wording}, {text}")
        return True

    def give_up(self, message: str, code: int, cause: str = "") -> None:
        """End all running tasks by a 500; the iteration is over."""
        state = self._state
        text = f"{message} off = {self._offset}, n_batch = {self._n_batch}, ret = {code}"
        state.log.srv("E", "decode", text)
        n = self._endings.abort_all(message)
        if code == 1:
            state.tell(PoolFull(state.now / 1e6, n))
        else:
            state.tell(Notice(state.now / 1e6, cause, "error"))
        state.log.srv("E", "update_slots", f"decode() failed: {message}")
        self._batch = Batch()
        self._offset = 0

    def _purge_one(self) -> bool:
        """Unified mode: empty the first idle slot that holds tokens."""
        state = self._state
        if not state.plan.unified:
            return False
        for slot in state.slots:
            if not slot.phase and slot.n_tokens:
                state.log.srv("W", "try_clear_idle_slots", f"purging slot {slot.id} with {slot.n_tokens} tokens")
                state.tell(Purged(state.now / 1e6, slot.id, slot.n_tokens))
                state.clear(slot)
                return True
        return False


def _run(part: Part) -> SequenceRun:
    slot, first, n, wants_logits, _ = part
    sequence, end = slot.sequence, first + n
    return SequenceRun(
        slot.tokens[first:end], first, sequence.stream.index, sequence.cells[: sequence.n], sequence.start, wants_logits
    )
