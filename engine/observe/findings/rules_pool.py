"""Findings about the KV cells that slots share."""

from __future__ import annotations

from slotview.engine.snapshot import KvPool, SlotView
from slotview.engine.text.plural import plural

from ..observation import Finding
from ..words import count, percent
from .scene import Rule, Scene

__all__ = ["RULES"]

NEARLY = 0.9  # share of a pool held by running requests, above which it is nearly full
TOO_MUCH = 1.05  # no pool holds more than this share of its cells: then it must be the larger one
REMEMBER = 60.0  # seconds an overflow stays on screen

_ADVICE = "larger -c, or -np without -kvu, so that each slot has its own share"


def nearly_full(scene: Scene) -> Finding | None:
    """Running requests fill the shared pool. What idle slots keep does not count, since it is dropped first."""
    pool = scene.snapshot.pool
    if not pool.unified or not pool.cells or pool.active is None or pool.active < NEARLY * pool.cells:
        return None
    return Finding(
        "pool-nearly-full",
        "the shared pool is nearly full; when it is, all running requests end",
        _three_parts(pool, pool.active),
        _ADVICE,
        slots=tuple(slot.id for slot in scene.busy),
    )


def maybe_full(scene: Scene) -> Finding | None:
    """The same, if it is unknown whether the slots share a pool."""
    pool = scene.snapshot.pool
    if pool.unified is not None or not pool.candidates or pool.active is None or len(scene.busy) < 2:
        return None
    cells = min(pool.candidates)
    if not NEARLY * cells <= pool.active or scene.memory.most_held > TOO_MUCH * cells:
        return None
    sizes = " or ".join(count(size) for size in sorted(pool.candidates))
    how = "full and running requests end" if pool.active >= cells else "nearly full, and then running requests end"
    return Finding(
        "pool-maybe-full",
        f"if the slots share one pool of {count(cells)}, it is {how}",
        f"{count(pool.active)} tokens active ({_shares(scene.busy)}); pool size not reported: {sizes}",
        "started with -kvu or without -np: larger -c or -np N; split slots are safe",
        slots=tuple(slot.id for slot in scene.busy),
    )


def overflow(scene: Scene) -> Finding | None:
    """The pool had no room left: every running request ended, even if each slot looked nearly empty."""
    noted = scene.memory.overflow
    if noted is None or scene.snapshot.time - noted.time > REMEMBER:
        return None
    ended = plural(noted.n_tasks, "request")
    text = f"the shared pool ran full: {ended} ended with an error"
    if noted.how == "seen":
        text = f"{ended} ended at once and left no tokens, as when a shared pool runs full"
    evidence = "the pool counts, not a slot's share of its own n_ctx"
    if noted.fullest is not None and noted.active is not None:
        evidence = f"before: {count(noted.active)} tokens active, fullest slot at {percent(noted.fullest)} of its n_ctx"
    return Finding("pool-overflow", text, evidence, _ADVICE, "error")


def _three_parts(pool: KvPool, active: int) -> str:
    cells = pool.cells or 1
    parts = f"{count(active)} active ({percent(active / cells)})"
    if pool.cached is not None and pool.free is not None:
        parts += f", {count(pool.cached)} cached in idle slots, {count(pool.free)} free"
    return f"{parts} of {count(cells)}"


def _shares(slots: list[SlotView]) -> str:
    known = [percent(slot.n_tokens / slot.n_ctx) for slot in slots if slot.n_tokens is not None and slot.n_ctx]
    return "slots at " + ", ".join(known[:4]) + (" …" if len(known) > 4 else "")


RULES = (
    Rule(overflow, after=0.0, linger=0.0),
    Rule(nearly_full, after=0.0, linger=10.0),
    Rule(maybe_full, after=0.0, linger=10.0),
)
