"""What is known about a child beyond HTTP, and what a restart of it would lose."""

from __future__ import annotations

from msgspec.structs import replace

from ..context import LaunchFlags
from ..snapshot import Snapshot
from ..text.plural import plural
from .log_reader import ChildFacts

__all__ = ["completed", "lost_requests", "lost_tokens"]


def completed(snapshot: Snapshot, told: ChildFacts, flags: LaunchFlags) -> Snapshot:
    """Add what only the log and the flags reveal: the pool's mode and size, and what was asked for."""
    if told.unified is None:
        return snapshot
    cells = _cells(told, snapshot.facts.n_ctx_train, flags)
    facts = replace(
        snapshot.facts,
        unified=told.unified,
        n_slots=snapshot.facts.n_slots or told.n_slots or (flags.parallel if flags.parallel > 0 else None),
        n_ctx_slot=snapshot.facts.n_ctx_slot or told.n_ctx_slot,
        n_ctx=cells,
        n_ctx_asked=flags.ctx_size if cells is not None and flags.ctx_size not in (0, cells) else None,
        n_batch=told.n_batch,
        n_ubatch=told.n_ubatch,
        type_k=told.type_k,
        type_v=told.type_v,
    )
    pool = replace(snapshot.pool, unified=told.unified, cells=cells, candidates=(), n_bytes=told.kv_bytes, why=None)
    return replace(snapshot, facts=facts, pool=pool)


def _cells(told: ChildFacts, n_ctx_train: int | None, flags: LaunchFlags) -> int | None:
    """Cells of the whole pool. Only the trace lines (``-lv 4``) tell; without them it is what the slots may hold
    together, unless something else than the pool limits them.
    """
    if told.n_ctx is not None or told.n_ctx_slot is None or told.n_slots is None:
        return told.n_ctx
    if flags.kv_unified_per_slot or n_ctx_train is None or told.n_ctx_slot >= n_ctx_train:
        return None
    return told.n_ctx_slot if told.unified else told.n_ctx_slot * told.n_slots


def lost_requests(snapshot: Snapshot) -> str:
    """What a restart would end, as far as known: waiting requests are lost just as running ones are."""
    if snapshot.busy is None:
        return "all requests"
    if snapshot.waiting.count is None:
        return f"{plural(snapshot.busy, 'running request')} and all that wait"
    if snapshot.busy == snapshot.waiting.count == 0:
        return "no request"
    return f"{snapshot.busy} running and {snapshot.waiting.count} waiting requests"


def lost_tokens(snapshot: Snapshot) -> str:
    """What a restart would drop from the cache, as far as known."""
    cached = snapshot.pool.cached
    return "the tokens kept in idle slots" if cached is None else f"{cached or 'no'} tokens kept in idle slots"
