"""What other launch flags would do to the embedded engine."""

from __future__ import annotations

from .backend import RetunePreview
from .context import ContextPlan
from .snapshot import Snapshot

__all__ = ["preview_of"]


def preview_of(plan: ContextPlan, snapshot: Snapshot) -> RetunePreview:
    """What the plan's flags would make of the engine that a snapshot shows."""
    running = snapshot.busy or 0
    again = sum(slot.n_tokens or 0 for slot in snapshot.slots or () if slot.is_busy)
    cached = snapshot.pool.cached or 0
    notes = list(plan.notes)
    if running:
        notes.append(f"{running} running requests are queued again; about {again} tokens are processed again")
    if cached:
        notes.append(f"{cached} tokens kept in idle slots are lost; their prompts are processed again when repeated")
    return RetunePreview(
        flags=plan.flags,
        n_slots=plan.n_slots,
        unified=plan.unified,
        n_ctx=plan.n_ctx,
        n_ctx_slot=plan.slot_n_ctx,
        pool_cells=plan.n_cells,
        kv_bytes=plan.kv_bytes,
        kv_bytes_now=snapshot.pool.n_bytes,
        log=tuple(line.prefix + line.text for line in plan.log if line.level != "T"),
        notes=tuple(notes),
        command=" ".join(("slotview", *plan.flags.arguments())),
    )
