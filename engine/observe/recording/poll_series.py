"""Raw polls of a server ({"t": seconds, "slots": […], "metrics": {…}}) as snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slotview.engine.pool_sums import possible_sizes, tokens_held
from slotview.engine.snapshot import (
    Health,
    HealthState,
    KvPool,
    PollView,
    ServerFacts,
    SlotView,
    Snapshot,
    Totals,
    WaitingView,
)

__all__ = ["is_poll", "snapshot_of_poll"]


def is_poll(data: Mapping[str, Any]) -> bool:
    """Whether a line is a raw poll."""
    return "t" in data and "slots" in data


def snapshot_of_poll(data: Mapping[str, Any], serial: int, name: str) -> Snapshot:
    """Read one poll just as it would be read from the server. Raises `ValueError`."""
    from slotview.engine.remote.read.metrics import read_totals
    from slotview.engine.remote.read.slots import read_slots
    from slotview.engine.remote.read.values import as_count, as_map, as_number

    at, slots = as_number(data["t"]), read_slots(data["slots"])
    if at is None or slots is None:
        raise ValueError("t is not a number, or slots is not an array")
    metrics = {str(key): as_number(value) for key, value in as_map(data.get("metrics")).items()}
    deferred = as_count(metrics.get("requests_deferred"))
    return Snapshot(
        time=at,
        serial=serial,
        facts=ServerFacts(source=name, n_slots=len(slots), n_ctx_slot=slots[0].n_ctx if slots else None),
        health=Health(HealthState.OK),
        slots=slots,
        slots_at=at,
        waiting=WaitingView(deferred, why=None if deferred is not None else "unknown (the recording has no /metrics)"),
        pool=_pool(slots),
        totals=read_totals(metrics) if metrics else Totals(),
        poll=PollView(interval=1.0),
    )


def _pool(slots: tuple[SlotView, ...]) -> KvPool:
    """Sums over the slots, if all of them report their tokens; the size of the pool is never reported."""
    active, cached = tokens_held(slots, busy=True), tokens_held(slots, busy=False)
    if active is None or cached is None:
        return KvPool(why="the recording does not hold the tokens of its slots")
    limits = {slot.n_ctx for slot in slots}
    sizes = possible_sizes(limits.pop() if len(limits) == 1 else None, len(slots))
    cells = sizes[0] if len(sizes) == 1 else None
    return KvPool(active=active, cached=cached, estimated=True, cells=cells, candidates=sizes)
