"""What llama-server logs about a context, and what that means in plain words (spec §2.3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from .kv_size import KV_TYPES, kv_bytes

if TYPE_CHECKING:
    from .plan import ContextPlan, ModelFacts

__all__ = ["ContextLine", "log_lines", "notes", "plan_lines"]

MIB = 1024 * 1024


class ContextLine(Struct, frozen=True):
    """A log line: level W, I, or T (trace: only with ``-lv 4``), the prefix llama-server gives it, and the text."""

    level: str
    prefix: str
    text: str


def plan_lines(plan: ContextPlan) -> Iterator[tuple[str, str]]:
    """Level and text of a plan's log lines, and after them what llama-server does not say."""
    for line in plan.log:
        yield line.level, line.prefix + line.text
    for note in plan.notes:
        yield "I", f"srv    load_model: note: {note}"


def log_lines(plan: ContextPlan, model: ModelFacts, asked: int) -> Iterator[ContextLine]:
    """llama-server's lines about the context in its order (spec §2.3)."""
    lib = "llama_context: "
    if not plan.unified and plan.n_ctx != asked:
        text = f"n_ctx is not divisible by n_seq_max - rounding down to {plan.n_ctx}"
        yield ContextLine("W", lib, text)
    for name, value in _table(plan, model):
        yield ContextLine("T", lib, f"{name:<21} = {value}")
    if plan.n_ctx_seq < model.n_ctx_train:
        text = f"n_ctx_seq ({plan.n_ctx_seq}) < n_ctx_train ({model.n_ctx_train})"
        yield ContextLine("T", lib, f"{text} -- the full capacity of the model will not be utilized")
    elif plan.n_ctx_seq > model.n_ctx_train:
        text = f"n_ctx_seq ({plan.n_ctx_seq}) > n_ctx_train ({model.n_ctx_train})"
        yield ContextLine("W", lib, f"{text} -- possible training context overflow")
    yield from _kv_lines(plan, model)
    yield from _slot_lines(plan, model)


def _table(plan: ContextPlan, model: ModelFacts) -> list[tuple[str, str]]:
    return [
        ("n_seq_max", str(plan.n_slots)),
        ("n_ctx", str(plan.n_ctx)),
        ("n_ctx_seq", str(plan.n_ctx_seq)),
        ("n_batch", str(plan.n_batch)),
        ("n_ubatch", str(plan.n_ubatch)),
        ("causal_attn", "1"),
        ("flash_attn", {"auto": "auto", "on": "enabled", "off": "disabled"}[plan.flags.flash_attn]),
        ("kv_unified", "true" if plan.unified else "false"),
        ("freq_base", f"{model.rope_base:.1f}"),
        ("freq_scale", f"{model.rope_scale:g}"),
        ("n_rs_seq", "0"),
        ("n_outputs_max", str(plan.n_outputs_max)),
        ("n_outputs_max_per_seq", "1"),
    ]


def _kv_lines(plan: ContextPlan, model: ModelFacts) -> Iterator[ContextLine]:
    """The cache's own lines (spec §3.1)."""
    if model.shape is None or plan.kv_bytes is None:
        return
    flags, shape, lib = plan.flags, model.shape, "llama_kv_cache: "
    size_k = kv_bytes(replace(shape, head_dim_v=0), plan.n_cells, flags.type_k, flags.type_v) / MIB
    size_v = plan.kv_bytes / MIB - size_k
    yield ContextLine("T", lib, f"{'CPU':>10} KV buffer size = {plan.kv_bytes / MIB:8.2f} MiB")
    cells = f"({plan.n_ctx_seq:6} cells, {shape.n_layer:3} layers, {plan.n_slots:2}/{plan.n_stream} seqs)"
    parts = f"K ({flags.type_k}): {size_k:7.2f} MiB, V ({flags.type_v}): {size_v:7.2f} MiB"
    yield ContextLine("T", lib, f"size = {plan.kv_bytes / MIB:7.2f} MiB {cells}, {parts}")
    for name, kind, width in (("k", flags.type_k, shape.head_dim_k), ("v", flags.type_v, shape.head_dim_v)):
        rotation = 64 if KV_TYPES[kind].block_values > 1 and width % 64 == 0 else 0
        yield ContextLine("T", lib, f"n_rot_{name} = {rotation}, n_embd_head_k_all = {shape.head_dim_k}")


def _slot_lines(plan: ContextPlan, model: ModelFacts) -> Iterator[ContextLine]:
    """The server's lines about the slots' limits."""
    srv = "srv    load_model: "
    per_slot = plan.flags.kv_unified_per_slot
    if plan.n_ctx_seq > per_slot > 0:
        text = f"capping per-slot context ({plan.n_ctx_seq}) to --kv-unified-per-slot ({per_slot})"
        yield ContextLine("I", srv, text)
    elif per_slot > plan.n_ctx_seq:
        yield ContextLine(
            "W",
            srv,
            f"--kv-unified-per-slot ({per_slot}) exceeds the per-slot pool capacity ({plan.n_ctx_seq}) - cap has no"
            f" effect, slots are limited to {plan.n_ctx_seq} (raise the KV pool with -c, or unset -c to size it to"
            " n_parallel * kv_unified_per_slot)",
        )
    capped = min(plan.n_ctx_seq, per_slot) if per_slot > 0 else plan.n_ctx_seq
    if capped > model.n_ctx_train:
        text = f"the slot context ({capped}) exceeds the training context of the model ({model.n_ctx_train}) - capping"
        yield ContextLine("W", srv, text)
    mode = "true" if plan.unified else "false"
    slots = f"n_slots = {plan.n_slots}, n_ctx_slot = {plan.slot_n_ctx}, kv_unified = '{mode}'"
    yield ContextLine("I", srv, f"initializing, {slots}")
    for slot in range(plan.n_slots):
        yield ContextLine("T", f"slot   load_model: id {slot:2} | task -1 | ", f"new slot, n_ctx = {plan.slot_n_ctx}")


def notes(plan: ContextPlan, asked: int) -> Iterator[str]:
    """What the user should know but the log does not say plainly."""
    if not plan.unified and plan.n_ctx != asked:
        share = asked // plan.n_slots
        yield (
            f"the log says rounding down, but the total went up: {asked} / {plan.n_slots} slots = {share},"
            f" rounded up to {plan.n_ctx_seq} each, {plan.n_ctx} together"
        )
    if plan.flags.parallel < 0 and not plan.flags.kv_unified:
        yield f"-np automatic: {plan.n_slots} slots share one pool of {plan.n_cells} cells; nothing reserves a share"
    wasted = plan.n_ctx_seq - plan.slot_n_ctx
    if wasted > 0 and not plan.unified:
        yield f"each stream has {plan.n_ctx_seq} cells but its slot may use {plan.slot_n_ctx}: {wasted} stay empty"
