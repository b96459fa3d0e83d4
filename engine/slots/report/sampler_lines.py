"""The two trace lines about a task's samplers (spec §8.4, §9.3)."""

from __future__ import annotations

from slotview.engine.model.sampling_params import SamplingParams

__all__ = ["chain_line", "params_text"]


def chain_line(params: SamplingParams) -> str:
    """The chain in the server's words; ``?`` marks what is present but inactive."""
    links = ["logits"]
    if params.logit_bias or params.ignore_eos:
        links.append("logit-bias")
    if params.mirostat and params.temperature > 0:
        links += ["temp", "mirostat" if params.mirostat == 1 else "mirostat-v2"]
    else:
        states = _states(params)
        links += [("" if states[name][1] else "?") + states[name][0] for name in params.samplers if name in states]
        links.append("adaptive-p" if "adaptive_p" in params.samplers else "dist")
    return " -> ".join(links) + " "


def _states(params: SamplingParams) -> dict[str, tuple[str, bool]]:
    """Each sampler's name in the log, and whether it does anything."""
    neutral = params.repeat_penalty == 1 and params.frequency_penalty == 0 and params.presence_penalty == 0
    return {
        "penalties": ("penalties", params.repeat_last_n != 0 and not neutral),
        "dry": ("dry", params.dry_multiplier != 0 and params.dry_base >= 1 and params.dry_penalty_last_n != 0),
        "top_n_sigma": ("top-n-sigma", params.top_n_sigma > 0),
        "top_k": ("top-k", params.top_k > 0),
        "typ_p": ("typical", params.typical_p < 1),
        "top_p": ("top-p", params.top_p < 1),
        "min_p": ("min-p", params.min_p > 0),
        "xtc": ("xtc", params.xtc_probability > 0 and params.xtc_threshold <= 0.5),
        "temperature": ("temp-ext", True),
        "infill": ("infill", True),
    }


def params_text(params: SamplingParams) -> str:
    """The four indented lines of values."""
    p = params
    return "\n".join(
        (
            f"\trepeat_last_n = {p.repeat_last_n}, repeat_penalty = {p.repeat_penalty:.3f},"
            f" frequency_penalty = {p.frequency_penalty:.3f}, presence_penalty = {p.presence_penalty:.3f}",
            f"\tdry_multiplier = {p.dry_multiplier:.3f}, dry_base = {p.dry_base:.3f},"
            f" dry_allowed_length = {p.dry_allowed_length}, dry_penalty_last_n = {p.dry_penalty_last_n}",
            f"\ttop_k = {p.top_k}, top_p = {p.top_p:.3f}, min_p = {p.min_p:.3f},"
            f" xtc_probability = {p.xtc_probability:.3f}, xtc_threshold = {p.xtc_threshold:.3f},"
            f" typical_p = {p.typical_p:.3f}, top_n_sigma = {p.top_n_sigma:.3f}, temp = {p.temperature:.3f}",
            f"\tmirostat = {p.mirostat}, mirostat_lr = {p.mirostat_eta:.3f}, mirostat_ent = {p.mirostat_tau:.3f},"
            f" adaptive_target = {p.adaptive_target:.3f}, adaptive_decay = {p.adaptive_decay:.3f}",
        )
    )
