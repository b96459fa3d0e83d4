"""From launch flags to what each slot gets: llama-server's context arithmetic (spec §2), without NumPy."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from .fit import fit_context
from .kv_size import KV_TYPES, KvShape, kv_bytes
from .lines import ContextLine, log_lines, notes

__all__ = [
    "AUTO_PARALLEL",
    "MAX_SLOTS",
    "ContextError",
    "ContextLine",
    "ContextPlan",
    "LaunchFlags",
    "ModelFacts",
    "pad256",
    "plan_context",
    "slots_for_each",
]

MAX_SLOTS = 256
AUTO_PARALLEL = 4


class ContextError(ValueError):
    """Flags that nothing can start with; the text is one line that says which flag is wrong and what would work."""


class LaunchFlags(Struct, frozen=True):
    """The launch flags that determine slots and context (spec §1.2).

    ``ctx_size`` None = no ``-c`` given, 0 = ``-c 0``. ``parallel`` below 0 = automatic. Sizes are tokens,
    ``fit_target`` MiB.
    """

    ctx_size: int | None = None
    parallel: int = -1
    kv_unified: bool = False
    kv_unified_per_slot: int = 0
    batch: int = 2048
    ubatch: int = 512
    fit: bool = True
    fit_ctx: int = 4096
    fit_target: int = 1024
    type_k: str = "f16"
    type_v: str = "f16"
    flash_attn: str = "auto"

    @property
    def n_slots(self) -> int:
        """How many slots that makes."""
        return AUTO_PARALLEL if self.parallel < 0 else self.parallel

    @property
    def is_unified(self) -> bool:
        """Whether all slots share one pool; they always do where their number is automatic."""
        return self.kv_unified or self.parallel < 0

    def arguments(self) -> list[str]:
        """The flags as words of a llama-server command line, without those that have their default value."""
        words: list[str] = []
        if self.ctx_size is not None:
            words += ["-c", str(self.ctx_size)]
        if self.parallel >= 0:
            words += ["-np", str(self.parallel)]
        if self.kv_unified and self.parallel >= 0:
            words.append("-kvu")
        usual = LaunchFlags()
        for flag, value, default in (
            ("--kv-unified-per-slot", self.kv_unified_per_slot, usual.kv_unified_per_slot),
            ("-b", self.batch, usual.batch),
            ("-ub", self.ubatch, usual.ubatch),
            ("-ctk", self.type_k, usual.type_k),
            ("-ctv", self.type_v, usual.type_v),
            ("-fa", self.flash_attn, usual.flash_attn),
            ("--fit-ctx", self.fit_ctx, usual.fit_ctx),
            ("--fit-target", self.fit_target, usual.fit_target),
        ):
            if value != default:
                words += [flag, str(value)]
        if not self.fit:
            words += ["--fit", "off"]
        return words


class ModelFacts(Struct, frozen=True):
    """What the arithmetic needs to know of a model. ``shape`` None = sizes in bytes are not known.

    ``compute_bytes``: working memory of a step, beside weights and KV.
    """

    n_ctx_train: int
    shape: KvShape | None = None
    weight_bytes: int = 0
    compute_bytes: int = 0
    rope_base: float = 10000.0
    rope_scale: float = 1.0


class ContextPlan(Struct, frozen=True):
    """What the flags amount to, in tokens. ``n_ctx_seq``: cells per stream; ``slot_n_ctx``: a slot's limit.

    ``log`` holds llama-server's lines in its order; ``notes`` say in plain words what they mean.
    """

    flags: LaunchFlags
    n_slots: int
    unified: bool
    n_ctx: int
    n_ctx_seq: int
    n_stream: int
    n_batch: int
    n_ubatch: int
    slot_n_ctx: int
    n_outputs_max: int
    kv_bytes: int | None
    log: tuple[ContextLine, ...]
    notes: tuple[str, ...]

    @property
    def n_cells(self) -> int:
        """Cells of all streams."""
        return self.n_ctx_seq * self.n_stream


def pad256(tokens: int) -> int:
    """Round up to a multiple of 256."""
    return (tokens + 255) // 256 * 256


def slots_for_each(wanted: int, n_slots: int) -> int:
    """The ``-c`` that gives each of ``n_slots`` split slots ``wanted`` tokens."""
    return pad256(wanted) * n_slots


def plan_context(flags: LaunchFlags, model: ModelFacts, memory: int | None = None) -> ContextPlan:
    """Compute what each slot gets (spec §2.1). ``memory``: bytes of the machine, for ``--fit``; None = plenty.

    Raises `ContextError` for flags with which llama-server does not start.
    """
    _refuse(flags)
    n_slots, unified = flags.n_slots, flags.is_unified
    n_stream = 1 if unified else n_slots
    raw, sized = _raw_size(flags, model, memory, n_stream)
    n_batch = min(raw, flags.batch)
    if n_batch < 2:
        raise ContextError(f"-c {raw}: the batch is {n_batch} token, too small for the start-up run; use -c 2 or more")
    padded = pad256(raw)
    n_ctx_seq = padded if unified else pad256(padded // n_slots)
    per_slot = flags.kv_unified_per_slot
    slot_n_ctx = min(n_ctx_seq, per_slot) if per_slot > 0 else n_ctx_seq
    plan = ContextPlan(
        flags=flags,
        n_slots=n_slots,
        unified=unified,
        n_ctx=n_ctx_seq * n_stream,
        n_ctx_seq=n_ctx_seq,
        n_stream=n_stream,
        n_batch=n_batch,
        n_ubatch=min(n_batch, flags.ubatch if flags.ubatch > 0 else flags.batch),
        slot_n_ctx=min(slot_n_ctx, model.n_ctx_train),
        n_outputs_max=min(flags.batch, n_slots),
        kv_bytes=_bytes(flags, model, n_ctx_seq * n_stream),
        log=(),
        notes=(),
    )
    return replace(plan, log=(*sized, *log_lines(plan, model, padded)), notes=tuple(notes(plan, padded)))


def _refuse(flags: LaunchFlags) -> None:
    """Raise for flags that no model can start with (spec §1.2)."""
    n_slots = flags.n_slots
    for name, kind in (("-ctk", flags.type_k), ("-ctv", flags.type_v)):
        if kind not in KV_TYPES:
            raise ContextError(f"{name}: Unsupported cache type: {kind} (one of {', '.join(KV_TYPES)})")
    if flags.flash_attn == "off" and KV_TYPES[flags.type_v].block_values > 1:
        raise ContextError("-ctv: quantized V cache requires flash_attn to be enabled; leave -fa out or use -fa on")
    if flags.parallel == 0:
        raise ContextError("-np 0: invalid value for n_parallel; use 1 to 256, or -1 for automatic")
    if n_slots > MAX_SLOTS:
        raise ContextError(f"-np {n_slots}: n_seq_max must be <= {MAX_SLOTS}; use at most {MAX_SLOTS} slots")
    if flags.ctx_size is not None and flags.ctx_size < 0:
        raise ContextError(f"-c {flags.ctx_size}: a context cannot be negative (n_ctx_seq == 0); use 0 or leave -c out")
    if flags.batch == 0 and flags.ubatch == 0:
        raise ContextError("-b 0 -ub 0: n_batch and n_ubatch cannot both be zero")
    if flags.batch < max(2, n_slots):
        raise ContextError(
            f"-b {flags.batch}: the batch must hold one token of each slot; use at least {max(2, n_slots)}"
        )


def _raw_size(
    flags: LaunchFlags, model: ModelFacts, memory: int | None, n_stream: int
) -> tuple[int, list[ContextLine]]:
    """Resolve ``-c`` before padding, with the log lines about it (spec §2.1, §2.2)."""
    wanted, lines = _wanted_size(flags, model, n_stream)
    if not flags.fit or memory is None or model.shape is None:
        return wanted, lines

    def used(tokens: int) -> int:
        return model.weight_bytes + model.compute_bytes + (_bytes(flags, model, tokens) or 0)

    tokens, more = fit_context(flags, wanted, n_stream, memory, used)
    return tokens, [*lines, *more]


def _wanted_size(flags: LaunchFlags, model: ModelFacts, n_stream: int) -> tuple[int, list[ContextLine]]:
    """The size that the flags name, or that the model was trained on, with the log lines about it."""
    lines: list[ContextLine] = []
    n_slots = flags.n_slots
    if flags.parallel < 0:
        text = f"n_parallel is set to auto, using n_parallel = {n_slots} and kv_unified = true"
        lines.append(ContextLine("T", "srv  llama_server: ", text))
    per_slot = flags.kv_unified_per_slot
    if flags.ctx_size is None and per_slot > 0:
        total = n_slots * per_slot
        text = f"sizing KV pool to n_parallel * kv_unified_per_slot = {n_slots} * {per_slot} = {total}"
        lines.append(ContextLine("I", "srv  llama_server: ", f"--kv-unified-per-slot: {text}"))
        return total, lines
    if flags.ctx_size:
        return flags.ctx_size, lines
    if not flags.fit:
        return model.n_ctx_train, lines
    full = model.n_ctx_train * n_stream
    if n_stream > 1:
        text = f"context size unset and KV cache not unified -> using {full} for {n_stream} sequences:"
        lines.append(ContextLine("T", "common_params_fit_impl: ", text))
    return full, lines


def _bytes(flags: LaunchFlags, model: ModelFacts, n_cells: int) -> int | None:
    if model.shape is None:
        return None
    try:
        return kv_bytes(model.shape, n_cells, flags.type_k, flags.type_v)
    except ValueError as error:
        raise ContextError(f"-ctk/-ctv: {error}") from None
