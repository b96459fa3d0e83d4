"""Answers of the native completion route (spec §7.9, §7.11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slotview.engine.model.interface import Tokenizer
from slotview.engine.slots.decode.stop import incomplete_bytes
from slotview.engine.slots.queue.task import Failed, Final, Partial, Progress, TokenProbs
from slotview.engine.slots.report.timing_values import timing_values

from ..bodies.json_text import Json
from ..errors import ApiError
from .params_json import params_json

__all__ = ["failure", "final_json", "only_fields", "partial_json", "probs_json", "progress_json", "prompt_progress"]

SMALLEST = -3.4028234663852886e38


def probs_json(probs: Sequence[TokenProbs], *, post_sampling: bool) -> list[Json]:
    """``completion_probabilities``: one entry a token."""
    value, top = ("prob", "top_probs") if post_sampling else ("logprob", "top_logprobs")

    def entry(token: int, text: bytes, amount: float) -> Json:
        shown = text[: len(text) - incomplete_bytes(text)].decode("utf-8", "replace")
        return {"id": token, "token": shown, "bytes": list(text), value: max(amount, SMALLEST)}

    return [
        entry(one.token, one.text, one.value) | {top: [entry(*candidate) for candidate in one.top]} for one in probs
    ]


def final_json(result: Final, model: str, tokenizer: Tokenizer, *, stream: bool) -> Json:
    """The native object: the whole answer, or a stream's last chunk."""
    shown: Json = {
        "index": result.index,
        "content": result.tail if stream else result.text,
        "tokens": [] if stream or not result.params.return_tokens else list(result.tokens),
        "id_slot": result.slot,
        "stop": True,
        "model": model,
        "tokens_predicted": result.n_decoded,
        "tokens_evaluated": result.n_prompt,
        "generation_settings": params_json(result.params, full=True),
        "prompt": tokenizer.prompt_text([int(token) for token in result.prompt]),
        "has_new_line": result.has_new_line,
        "truncated": result.truncated,
        "stop_type": str(result.stop_type),
        "stopping_word": result.stopping_word,
        "tokens_cached": result.n_cached_end,
        "timings": timing_values(result.timings),
    }
    sampling = result.params.sampling
    if sampling.n_probs > 0 and result.probs and not stream:
        shown["completion_probabilities"] = probs_json(result.probs, post_sampling=sampling.post_sampling_probs)
    return shown


def partial_json(result: Partial, *, timings: bool, post_sampling: bool) -> Json:
    """One streamed token. Its slot is −1, as the server has it."""
    shown: Json = {
        "index": result.index,
        "content": result.text,
        "tokens": [result.token],
        "stop": False,
        "id_slot": -1,
        "tokens_predicted": result.n_decoded,
        "tokens_evaluated": result.n_prompt,
    }
    if timings or result.completes_stop:
        shown["timings"] = timing_values(result.timings)
    if result.probs is not None:
        shown["completion_probabilities"] = probs_json([result.probs], post_sampling=post_sampling)
    return shown


def progress_json(result: Progress, *, timings: bool) -> Json:
    """A progress event of a stream with ``return_progress``."""
    shown: Json = {
        "index": result.index,
        "content": "",
        "tokens": [0],
        "stop": False,
        "id_slot": -1,
        "tokens_predicted": 0,
        "tokens_evaluated": result.total,
    }
    if timings:
        shown["timings"] = timing_values(result.timings)
    shown["prompt_progress"] = prompt_progress(result)
    return shown


def prompt_progress(result: Progress) -> Json:
    """``prompt_progress``: counts include the cached tokens."""
    return {
        "total": result.total,
        "cache": result.cache,
        "processed": result.processed,
        "time_ms": result.time_us // 1000,
    }


def only_fields(answer: Mapping[str, object], wanted: Sequence[str]) -> Json:
    """Keep ``response_fields``; a path with slashes becomes a key of that name, unknown ones are left out."""
    if not wanted:
        return dict(answer)
    kept: Json = {}
    for path in wanted:
        value: object = answer
        for part in path.split("/"):
            if not isinstance(value, Mapping) or part not in value:
                break
            value = value[part]
        else:
            kept[path] = value
    return kept


def failure(result: Failed) -> ApiError:
    """A task's error as the refusal to send."""
    extra = {}
    if result.n_prompt is not None and result.n_ctx is not None:
        extra = {"n_prompt_tokens": result.n_prompt, "n_ctx": result.n_ctx}
    return ApiError(result.message, result.kind, extra)
