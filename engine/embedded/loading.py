"""From flags to a core ready to run: the model, the context plan, the KV cache."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

from ..context import ContextError, ContextPlan, LaunchFlags, ModelFacts, plan_context
from ..context.kv_size import KvShape
from ..context.memory import available_memory, total_memory
from ..flags import EngineFlags

if TYPE_CHECKING:
    from ..model.interface import Model
    from ..slots.core import Core
    from ..slots.options import CoreOptions

__all__ = [
    "StartError",
    "build_core",
    "bundled_model",
    "check_flags",
    "core_options",
    "facts_of_file",
    "load",
    "model_facts",
    "plan_for",
]

BUNDLED = "slotview-1m.gguf"
MIB = 2**20
SPARE = 256 * MIB


class StartError(Exception):
    """The engine cannot start with these flags or this model; the text is one line."""


def bundled_model() -> Path:
    """Path of the model that comes with slotview."""
    with as_file(files("slotview.engine.model") / "data" / BUNDLED) as path:
        return path


def load(flags: EngineFlags) -> Model:
    """Load the model that the flags name, or the bundled one. Raises `StartError`."""
    from ..model.gguf.file import ModelFileError
    from ..model.load import load_model

    path = Path(flags.model) if flags.model else bundled_model()
    try:
        return load_model(path, flags.threads if flags.threads > 0 else None)
    except ModelFileError as error:
        raise StartError(str(error)) from None


def model_facts(model: Model, flags: LaunchFlags) -> ModelFacts:
    """What the context arithmetic needs of a model."""
    metadata = model.metadata
    wide = metadata.get("llama.feed_forward_length", 4 * model.n_embd)
    width = (wide if isinstance(wide, int) else 0) * 4 + model.n_embd * 4
    return ModelFacts(
        n_ctx_train=model.n_ctx_train,
        shape=model.kv_shape,
        weight_bytes=model.size_bytes,
        compute_bytes=(min(flags.batch, flags.ubatch) if flags.ubatch > 0 else flags.batch) * width * 4,
        rope_base=_number(metadata, "freq_base", 10000.0),
        rope_scale=_rope_scale(metadata),
    )


def _number(metadata: Mapping[str, object], key: str, default: float) -> float:
    value = metadata.get(f"llama.rope.{key}")
    return float(value) if isinstance(value, int | float) else default


def _rope_scale(metadata: Mapping[str, object]) -> float:
    """What llama.cpp multiplies positions by, as its log tells."""
    factor = _number(metadata, "scaling.factor", _number(metadata, "scale_linear", 1.0))
    is_stretched = metadata.get("llama.rope.scaling.type") != "none" and factor > 0
    return 1 / factor if is_stretched else 1.0


def plan_for(flags: LaunchFlags, facts: ModelFacts) -> ContextPlan:
    """Plan the context for this machine. Raises `ContextError`, also if the cells do not fit into free memory."""
    plan = plan_context(flags, facts, total_memory())
    free = available_memory()
    if plan.kv_bytes is not None and free is not None and plan.kv_bytes + SPARE > free:
        wanted, there = plan.kv_bytes // MIB, free // MIB
        raise ContextError(f"the KV cache needs {wanted} MiB but only {there} MiB are free; lower -c or -np")
    return plan


def core_options(flags: EngineFlags) -> CoreOptions:
    """The core's part of the flags."""
    from ..slots.options import CoreOptions

    return CoreOptions(
        n_predict=flags.n_predict,
        n_keep=flags.n_keep,
        slot_prompt_similarity=flags.slot_prompt_similarity,
        cache_ram=flags.cache_ram,
        cache_idle_slots=flags.cache_idle_slots,
        cont_batching=flags.cont_batching,
        context_shift=flags.context_shift,
        batching=flags.batching,
        verbosity=flags.verbosity,
        slots_debug="LLAMA_SERVER_SLOTS_DEBUG" in flags.debug,
        slots_n_diff=flags.debug.get("LLAMA_SERVER_SLOTS_N_DIFF", 0),
        special=flags.special,
        warmup=flags.warmup,
    )


def build_core(flags: EngineFlags, model: Model, now: int) -> Core:
    """Build a core for a loaded model. Raises `StartError`."""
    from ..slots.core import Core

    try:
        plan = plan_for(flags.launch, model_facts(model, flags.launch))
        return Core(plan, model, core_options(flags), now=now)
    except (ValueError, MemoryError) as error:
        text = str(error) or "not enough memory for the KV cache; lower -c or -np"
        raise StartError(text) from None


def check_flags(flags: EngineFlags) -> None:
    """Raise `ContextError` for flags that no model could start with, before anything is loaded."""
    plan_context(flags.launch, ModelFacts(n_ctx_train=8192))


def facts_of_file(path: str) -> ModelFacts:
    """Read the sizes in a model file without loading its weights. Raises `StartError`."""
    from ..model.gguf.file import ModelFileError, load_model_file

    try:
        file = load_model_file(Path(path))
    except ModelFileError as error:
        raise StartError(str(error)) from None
    hparams = file.hparams
    shape = KvShape(hparams.n_layer, hparams.n_head_kv, hparams.head_dim_k, hparams.head_dim_v)
    base, scale = hparams.rope_base, _rope_scale(file.metadata)
    return ModelFacts(hparams.n_ctx_train, shape, file.size_bytes, rope_base=base, rope_scale=scale)
