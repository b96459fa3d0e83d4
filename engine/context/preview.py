"""What other launch flags would do: the part of a preview that all backends share."""

from __future__ import annotations

from msgspec.structs import replace

from ..backend import RetunePreview
from ..snapshot import Snapshot
from ..text.plural import plural
from .plan import ContextPlan

__all__ = ["planned", "preview_of"]


def planned(preview: RetunePreview, plan: ContextPlan, *, traced: bool = False) -> RetunePreview:
    """Complete a preview with the numbers, log lines and notes of a plan. ``traced``: include trace lines."""
    return replace(
        preview,
        n_slots=plan.n_slots,
        unified=plan.unified,
        n_ctx=plan.n_ctx,
        n_ctx_slot=plan.slot_n_ctx,
        pool_cells=plan.n_cells,
        kv_bytes=plan.kv_bytes,
        log=tuple(line.prefix + line.text for line in plan.log if traced or line.level != "T"),
        notes=(*plan.notes, *preview.notes),
    )


def preview_of(plan: ContextPlan, snapshot: Snapshot) -> RetunePreview:
    """What a plan would do to the embedded engine that a snapshot shows."""
    running, cached = snapshot.busy, snapshot.pool.cached
    again = sum(slot.n_tokens or 0 for slot in snapshot.slots or () if slot.is_busy)
    notes: list[str] = []
    if running:
        requests, tokens = plural(running, "running request"), plural(again, "token")
        notes.append(f"{requests} queued again; about {tokens} processed again")
    if cached:
        kept = plural(cached, "token")
        notes.append(f"{kept} kept in idle slots are lost; their prompts are processed again when repeated")
    command = " ".join(("slotview", *plan.flags.arguments()))
    preview = RetunePreview(plan.flags, kv_bytes_now=snapshot.pool.n_bytes, notes=tuple(notes), command=command)
    return planned(preview, plan)
