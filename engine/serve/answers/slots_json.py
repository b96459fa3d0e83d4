"""GET /slots and the text of GET /metrics (spec §7.3, §7.6)."""

from __future__ import annotations

from slotview.engine.slots.core import Core
from slotview.engine.slots.report.metrics import Scrape
from slotview.engine.slots.slot import Slot

from ..bodies.json_text import Json
from .params_json import params_json

__all__ = ["metrics_text", "slots_json"]

COUNTERS = {
    "prompt_tokens_total": "Number of prompt tokens processed, excluding cached tokens",
    "prompt_tokens_cached_total": "Number of prompt tokens reused from the cache",
    "prompt_seconds_total": "Total time spent processing prompts",
    "tokens_predicted_total": "Number of generation tokens processed",
    "tokens_predicted_seconds_total": "Total time spent generating tokens",
    "n_decode_total": "Total number of llama_decode() calls, excluding speculative decoding and multimodal decoding",
    "n_tokens_max": "Largest observed sequence length (prompt + generation)",
    "spec_decode_num_draft_tokens_total": "Speculative: Total draft tokens generated",
    "spec_decode_num_accepted_tokens_total": "Speculative: Total draft tokens accepted by the target model",
    "spec_decode_num_drafts_total": "Speculative: Total speculative decoding verification steps",
}
GAUGES = {
    "prompt_tokens_seconds": "Average prompt throughput in tokens/s",
    "predicted_tokens_seconds": "Average generation throughput in tokens/s",
    "requests_processing": "Number of requests processing",
    "requests_deferred": "Number of requests deferred",
    "n_busy_slots_per_decode": "Average number of busy slots per llama_decode() call",
}


def slots_json(core: Core) -> list[Json]:
    """All slots in id order."""
    return [_slot(slot, core) for slot in core.slots]


def _slot(slot: Slot, core: Core) -> Json:
    """One slot; one that has not run a task yet has four members only."""
    shown: Json = {"id": slot.id, "n_ctx": slot.n_ctx, "speculative": False, "is_processing": slot.is_processing}
    params = slot.params
    if params is None:
        return shown
    debug = core.options.slots_debug
    busy = slot.is_processing
    shown |= {
        "id_task": slot.id_task,
        "n_prompt_tokens": slot.n_tokens,
        "n_prompt_tokens_processed": slot.n_prompt_processed if busy else 0,
        "n_prompt_tokens_cache": slot.n_prompt_cached if busy else 0,
        "params": params_json(params, full=debug),
        "next_token": [
            {
                "has_next_token": slot.has_next_token,
                "has_new_line": slot.has_new_line,
                "n_remain": slot.n_remain if busy else -1,
                "n_decoded": slot.n_gen if busy else 0,
            }
        ],
    }
    if debug:
        prompt = [] if slot.prompt is None else [int(token) for token in slot.prompt]
        shown["prompt"] = core.model.tokenizer.prompt_text(prompt)
        shown["generated"] = bytes(slot.text or slot.finished_text).decode("utf-8", "replace")
    return shown


def metrics_text(scrape: Scrape) -> str:
    """The exposition text, with the C++ number format of six significant digits."""
    lines: list[str] = []
    for kind, table in (("counter", COUNTERS), ("gauge", GAUGES)):
        for name, help_text in table.items():
            lines += [
                f"# HELP llamacpp:{name} {help_text}",
                f"# TYPE llamacpp:{name} {kind}",
                f"llamacpp:{name} {getattr(scrape, name, 0):.6g}",
            ]
    return "\n".join(lines) + "\n"
