"""Reusing chunks of the old prompt that stand elsewhere in the new one (``--cache-reuse``, spec §6.5)."""

from __future__ import annotations

import numpy as np

from ..kv.cache import KvCache
from ..queue.job import CompletionJob
from ..report.log import Log
from ..slot import Slot
from .prefix import common_prefix

__all__ = ["reuse_chunks"]


def reuse_chunks(slot: Slot, job: CompletionJob, n_past: int, cache: KvCache, log: Log) -> int:
    """Move every equal run of at least ``n_cache_reuse`` tokens to its new place; return the tokens now in place."""
    old, new = slot.held, job.prompt
    c = p = n_past
    while c < len(old) and p < len(new):
        found = _next_chunk(slot, job, c, p)
        if found is None:
            break
        c, n = found
        if log.trace:
            text = f"reusing chunk with size {n}, shifting KV cache [{c}, {c + n}) -> [{p}, {p + n})"
            log.slot("T", "operator()", slot, text)
        cache.remove(slot.id, p, c)
        if not cache.move(slot.id, c, c + n, p - c):
            break
        old[p : p + n] = old[c : c + n].copy()
        n_past += n
        c, p = c + n, p + n
    return n_past


def _next_chunk(slot: Slot, job: CompletionJob, c: int, p: int) -> tuple[int, int] | None:
    """Where from ``c`` on the old tokens agree with the new ones at ``p`` for long enough, and for how long."""
    old, new = slot.held, job.prompt[p:]
    for at in np.flatnonzero(old[c:] == new[0]):
        n = common_prefix(old[c + int(at) :], new)
        if n >= job.params.n_cache_reuse:
            return c + int(at), n
    return None
