"""The server's lines about times (spec §9.2)."""

from __future__ import annotations

from collections.abc import Iterator

from ..queue.task import Timings
from ..slot import Slot

__all__ = ["generation_line", "prompt_line", "timing_lines"]

PRINT_EVERY_US = 3_000_000
MIN_TOKENS = 100


def timing_lines(timings: Timings, graphs_reused: int) -> Iterator[str]:
    """The four lines at a task's end."""
    prompt_ms, gen_ms = timings.prompt_us / 1e3, timings.predicted_us / 1e3
    n_prompt, n_gen = timings.prompt_n, timings.predicted_n
    yield f"prompt eval time = {_times(prompt_ms, n_prompt, n_prompt)}"
    yield f"       eval time = {_times(gen_ms, n_gen, n_gen - timings.n_untimed)}"
    yield f"      total time = {prompt_ms + gen_ms:10.2f} ms / {n_prompt + n_gen:5d} tokens"
    yield f"   graphs reused = {graphs_reused:10d}"


def _times(ms: float, shown: int, counted: int) -> str:
    each = ms / counted if counted > 0 else 0.0
    rate = 1e3 * counted / ms if counted > 0 and ms else 0.0
    return f"{ms:10.2f} ms / {shown:5d} tokens ({each:8.2f} ms per token, {rate:8.2f} tokens per second)"


def prompt_line(slot: Slot) -> str | None:
    """The line before each further batch of a prompt that has taken three seconds."""
    spent = slot.t_prompt_last - slot.t_start
    if spent < PRINT_EVERY_US or slot.job is None:
        return None
    done, share = slot.n_prompt_processed, slot.n_tokens / max(1, len(slot.job.prompt))
    rate = 1e6 * done / spent
    text = f"n_tokens = {done:6d}, progress = {share:.2f}, t = {spent / 1e6:6.2f} s / {rate:.2f} tokens per second"
    return f"prompt processing, {text}"


def generation_line(slot: Slot, now: int) -> str | None:
    """The line every three seconds of a generation of 100 tokens or more; marks it as printed."""
    if slot.n_gen < MIN_TOKENS or now - slot.t_printed < PRINT_EVERY_US:
        return None
    window = 1e6 / (now - slot.t_printed) * (slot.n_gen - slot.n_gen_printed)
    rate = 1e6 * (slot.n_gen - slot.n_untimed) / slot.gen_us
    slot.t_printed, slot.n_gen_printed = now, slot.n_gen
    return f"n_gen = {slot.n_gen:6d}, tg = {rate:6.2f} t/s, tg_3s = {window:6.2f} t/s"
