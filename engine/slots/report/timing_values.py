"""The ``timings`` object from raw times (spec §7.11)."""

from __future__ import annotations

from ..queue.task import Timings

__all__ = ["timing_values"]


def timing_values(timings: Timings) -> dict[str, float | int]:
    """Keys and order of the server; the first token is free, hence rates over one token less."""
    prompt_ms, gen_ms = timings.prompt_us / 1e3, timings.predicted_us / 1e3
    n_prompt, n_gen = timings.prompt_n, timings.predicted_n
    n_timed = n_gen - timings.n_untimed
    return {
        "cache_n": timings.cache_n,
        "prompt_n": n_prompt,
        "prompt_ms": prompt_ms,
        "prompt_per_token_ms": prompt_ms / n_prompt if n_prompt else 0.0,
        "prompt_per_second": 1e3 * n_prompt / prompt_ms if prompt_ms else 0.0,
        "predicted_n": n_gen,
        "predicted_ms": gen_ms,
        "predicted_per_token_ms": gen_ms / n_timed if n_timed > 0 else 0.0,
        "predicted_per_second": 1e3 * n_timed / gen_ms if n_timed > 0 and gen_ms else 0.0,
    }
