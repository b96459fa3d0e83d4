"""Raw polls of a server ({"t": seconds, "slots": […], "metrics": {…}}) as snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..snapshot import (
    Health,
    HealthState,
    KvPool,
    PollView,
    ServerFacts,
    SlotState,
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
    """Read one poll as it would be read from the server. Raises `ValueError`."""
    from ..remote.read_metrics import read_totals
    from ..remote.read_slots import read_slots
    from ..remote.values import as_count, as_map, as_number

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
    """Sums over the slots where all tell; the pool's size is never told."""
    used = [slot for slot in slots if slot.state is not SlotState.UNUSED]
    if any(slot.n_tokens is None for slot in used):
        return KvPool(why="the recording does not tell the tokens of its slots")
    active = sum(slot.n_tokens or 0 for slot in used if slot.is_busy)
    cached = sum(slot.n_tokens or 0 for slot in used if not slot.is_busy)
    return KvPool(active=active, cached=cached, estimated=True, candidates=_candidates(slots))


def _candidates(slots: tuple[SlotView, ...]) -> tuple[int, ...]:
    sizes = {slot.n_ctx for slot in slots}
    size = sizes.pop() if len(sizes) == 1 else None
    return () if not size else (size, size * len(slots)) if len(slots) > 1 else (size,)
