"""Old prompts with their K and V in host RAM: ``--cache-ram`` (spec §5.3)."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from slotview.engine.model.interface import CellIds, TokenIds

from ..kv.cache import KvCache
from ..report.log import Log
from ..slot import Slot
from .prefix import common_prefix

__all__ = ["PromptStore", "StoredPrompt"]

MIB = 1024 * 1024
MIN_KEEP = np.float32(0.25)


class StoredPrompt(Struct, frozen=True, eq=False):
    """Tokens [n] and the state of their sequence. ``n_bytes`` is its size as the server counts it."""

    tokens: TokenIds
    positions: CellIds
    data: bytes
    n_bytes: int


class PromptStore:
    """Entries from the oldest to the newest. ``limit_mib`` −1 = no limit in bytes; ``n_ctx`` limits the tokens."""

    def __init__(self, limit_mib: int, n_ctx: int, cache: KvCache, log: Log) -> None:
        self.entries: list[StoredPrompt] = []
        self._limit = max(0, limit_mib) * MIB
        self._n_ctx = n_ctx
        self._cache = cache
        self._log = log

    @property
    def n_bytes(self) -> int:
        """Bytes of all entries."""
        return sum(entry.n_bytes for entry in self.entries)

    @property
    def n_tokens(self) -> int:
        """Tokens of all entries."""
        return sum(len(entry.tokens) for entry in self.entries)

    def save(self, slot: Slot) -> bool:
        """Copy what the slot holds; False when nothing was added."""
        if slot.n_tokens == 0:
            return False
        size = self._cache.state_bytes(slot.id)
        text = (
            f" - saving prompt with length {slot.n_tokens}, total state size = {size / MIB:.3f} MiB (draft: 0.000 MiB)"
        )
        self._log.srv("T", "prompt_save", text)
        if not self._make_room(slot.held, size):
            return False
        positions, data = self._cache.read(slot.id)
        self.entries.append(StoredPrompt(slot.held.copy(), positions, data, size))
        return True

    def _make_room(self, tokens: TokenIds, size: int) -> bool:
        """Drop entries that are a beginning of ``tokens``, and the oldest ones beyond the limit.

        False, and nothing is dropped, where an entry begins with ``tokens`` already or they are too large.
        """
        log = self._log
        if any(common_prefix(entry.tokens, tokens) == len(tokens) for entry in self.entries):
            log.srv("T", "alloc", " - prompt is already in the cache, skipping")
            return False
        if self._limit and size > self._limit:
            limit = f"{self._limit / MIB:.3f} MiB"
            text = f" - prompt state size {size / MIB:.3f} MiB exceeds cache size limit {limit}, skipping"
            log.srv("W", "alloc", text)
            return False
        for entry in list(self.entries):
            if common_prefix(entry.tokens, tokens) == len(entry.tokens):
                log.srv("T", "alloc", f" - removing obsolete cached prompt with length {len(entry.tokens)}")
                self.entries.remove(entry)
        while self._limit and self.entries and self.n_bytes + size > self._limit:
            oldest = self.entries.pop(0).n_bytes / MIB
            text = f" - making room for prompt cache entry, removing oldest entry (size = {oldest:.3f} MiB)"
            log.srv("W", "alloc", text)
        return True

    def load_better(self, slot: Slot, new: TokenIds) -> bool:
        """Put the entry that suits ``new`` better than the slot's own content into the slot.

        Returns False when restoring failed: the entry stays, and the slot, whose cells are gone, is to be cleared.
        """
        best = self._find_better(slot, new)
        if best is None:
            return True
        if self._cache.write(slot.id, best.positions, best.data) is None:
            self._tell_failure(slot, best)
            return False
        n = len(best.tokens)
        slot.tokens[:n] = best.tokens
        slot.n_tokens = n
        self.entries.remove(best)
        return True

    def _find_better(self, slot: Slot, new: TokenIds) -> StoredPrompt | None:
        """The entry of which more is kept, and which makes up more of ``new``, than of what the slot holds now.

        ``f_keep``: the share of an entry that ``new`` begins with. ``f_sim``: the share of ``new`` that it makes up.
        """
        same = common_prefix(slot.held, new)
        keep = _ratio(same, slot.n_tokens) if slot.n_tokens else np.float32(-1)
        sim = _ratio(same, len(new))
        log, best = self._log, None
        log.srv("T", "load", f" - looking for better prompt, base f_keep = {keep:.3f}, f_sim = {_shown(sim)}")
        for entry in self.entries:
            n = len(entry.tokens)
            same = common_prefix(entry.tokens, new)
            k, s = _ratio(same, n), _ratio(same, len(new))
            if log.trace:
                text = f"   - prompt with length {n:7d}, lcp = {same:7d}, f_keep = {k:.3f}, f_sim = {_shown(s)}"
                log.srv("T", "load", text)
            if k >= MIN_KEEP and k > keep and s > sim:
                keep, sim, best = k, s, entry
        if best is not None:
            log.srv("T", "load", f" - found better prompt with f_keep = {keep:.3f}, f_sim = {sim:.3f}")
        return best

    def _tell_failure(self, slot: Slot, entry: StoredPrompt) -> None:
        self._log.library("E", f"state_read_meta: failed to find {len(entry.tokens)} available cells in kv cache")
        self._log.library("E", "state_seq_set_data: error loading state: failed to restore kv cache")
        self._log.srv("E", "load", f"failed to restore state with size {entry.n_bytes}")
        self._log.slot("W", "prompt_load", slot, "failed to load prompt from cache")

    def trim(self) -> None:
        """Drop the oldest entries beyond the tokens allowed; `save` has seen to the bytes."""
        estimate = self._estimate()
        limit = max(self._n_ctx, estimate) if self._limit else self._n_ctx
        while len(self.entries) > 1 and self.n_tokens > limit:
            oldest = self.entries.pop(0).n_bytes / MIB
            text = f" - cache token limit ({self._n_ctx}, est: {limit}) reached"
            self._log.srv("W", "update", f"{text}, removing oldest entry (size = {oldest:.3f} MiB)")
        if self._log.trace:
            self._tell_state(limit)

    def _estimate(self) -> int:
        """Tokens that would fit the limit at the present average size (in 32-bit floats, as the server computes)."""
        average = max(np.float32(1), np.float32(self.n_bytes) / np.float32(max(1, self.n_tokens)))
        return int(np.float32(self._limit) / average)

    def _tell_state(self, n_tokens: int) -> None:
        limits = f"limits: {self._limit / MIB:.3f} MiB, {self._n_ctx} tokens, {n_tokens} est"
        size = f"{len(self.entries)} prompts, {self.n_bytes / MIB:.3f} MiB"
        self._log.srv("T", "update", f" - cache state: {size} ({limits})")
        for entry in self.entries:
            text = f"{len(entry.tokens):7d} tokens, checkpoints:  0, {entry.n_bytes / MIB:9.3f} MiB"
            self._log.srv("T", "update", f"   - prompt {id(entry):#x}: {text}")


def _ratio(part: int, whole: int) -> np.float32:
    return np.float32(part) / np.float32(whole) if whole else np.float32(np.nan)


def _shown(ratio: np.float32) -> str:
    """Three decimals; what is no number carries a sign, as C prints it."""
    return "-nan" if np.isnan(ratio) else f"{ratio:.3f}"
