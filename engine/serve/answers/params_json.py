"""Parameters as /slots, /props and answers show them (spec §7.3)."""

from __future__ import annotations

import math

from slotview.engine.model.sampling_params import SamplingParams
from slotview.engine.slots.queue.task import TaskParams

from ..bodies.json_text import Json, as_f32

__all__ = ["params_json"]


def params_json(params: TaskParams, *, full: bool = False) -> Json:
    """The 42 keys in the server's order; ``full`` adds those of debug mode and of ``generation_settings``."""
    sampling, extra = params.sampling, params.extra
    reasoning = extra.get("reasoning_format", "deepseek")
    shown: Json = {"seed": sampling.seed, **_chain(sampling)}
    if full:
        shown["dry_sequence_breakers"] = list(sampling.dry_sequence_breakers)
    shown |= {
        "mirostat": sampling.mirostat,
        "mirostat_tau": as_f32(sampling.mirostat_tau),
        "mirostat_eta": as_f32(sampling.mirostat_eta),
        "adaptive_target": as_f32(sampling.adaptive_target),
        "adaptive_decay": as_f32(sampling.adaptive_decay),
    }
    if full:
        shown["stop"] = list(params.stop)
    shown |= {
        "max_tokens": params.requested_n_predict,
        "n_predict": params.requested_n_predict,
        "n_keep": params.n_keep,
        "n_discard": params.n_discard,
        "ignore_eos": extra.get("ignore_eos", sampling.ignore_eos),
        "stream": params.stream,
    }
    if full:
        shown["logit_bias"] = [{"bias": _bias(bias), "token": token} for token, bias in sampling.logit_bias]
    shown |= {"n_probs": sampling.n_probs, "min_keep": sampling.min_keep}
    if full:
        shown |= {
            "grammar": "",
            "grammar_lazy": extra.get("grammar_lazy", False),
            "grammar_triggers": extra.get("grammar_triggers", []),
            "preserved_tokens": extra.get("preserved_tokens", []),
        }
    return shown | {
        "chat_format": extra.get("chat_format", "Content-only"),
        "reasoning_format": reasoning,
        "reasoning_in_content": params.stream and reasoning == "deepseek-legacy",
        "generation_prompt": extra.get("generation_prompt", ""),
        "samplers": list(sampling.samplers),
        "speculative.types": "none",
        "timings_per_token": params.timings_per_token,
        "post_sampling_probs": sampling.post_sampling_probs,
        "backend_sampling": extra.get("backend_sampling", False),
        "lora": extra.get("lora", []),
    }


def _chain(sampling: SamplingParams) -> Json:
    return {
        "temperature": as_f32(sampling.temperature),
        "dynatemp_range": as_f32(sampling.dynatemp_range),
        "dynatemp_exponent": as_f32(sampling.dynatemp_exponent),
        "top_k": sampling.top_k,
        "top_p": as_f32(sampling.top_p),
        "min_p": as_f32(sampling.min_p),
        "top_n_sigma": as_f32(sampling.top_n_sigma),
        "xtc_probability": as_f32(sampling.xtc_probability),
        "xtc_threshold": as_f32(sampling.xtc_threshold),
        "typical_p": as_f32(sampling.typical_p),
        "repeat_last_n": sampling.repeat_last_n,
        "repeat_penalty": as_f32(sampling.repeat_penalty),
        "presence_penalty": as_f32(sampling.presence_penalty),
        "frequency_penalty": as_f32(sampling.frequency_penalty),
        "dry_multiplier": as_f32(sampling.dry_multiplier),
        "dry_base": as_f32(sampling.dry_base),
        "dry_allowed_length": sampling.dry_allowed_length,
        "dry_penalty_last_n": sampling.dry_penalty_last_n,
    }


def _bias(value: float) -> float | None:
    return None if math.isinf(value) else as_f32(value)
