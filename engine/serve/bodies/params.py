"""From a request body to checked parameters (spec §8.3)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from slotview.engine.flags import EngineFlags
from slotview.engine.model.interface import Tokenizer
from slotview.engine.model.sampling_params import SamplingParams, sampler_letters, sampler_names
from slotview.engine.slots.queue.task import TaskParams

from ..errors import ApiError, not_supported
from .fields import Fields, wrong_type
from .json_text import as_f32
from .logit_bias import biased
from .remarks import remark
from .unfollowed import check_adapters, read_unfollowed

__all__ = ["RequestOptions", "read_params"]


class RequestOptions(Struct, frozen=True):
    """What the HTTP face itself needs of a request."""

    params: TaskParams
    include_usage: bool = False
    response_fields: tuple[str, ...] = ()
    sse_ping_interval: int = 30
    verbose: bool = False


def read_params(body: Mapping[str, object], flags: EngineFlags, n_slots: int, tokenizer: Tokenizer) -> RequestOptions:
    """Check a completion's fields, in the server's order: of several wrong ones the same is told. Raises `ApiError`."""
    fields = Fields(body)
    verbose = fields.boolean("verbose", default=flags.verbosity > 9)
    timings = fields.boolean("timings_per_token", default=False)
    stream = fields.boolean("stream", default=False)
    usage = fields.inside("stream_options").boolean("include_usage", default=False)
    cache_prompt = fields.boolean("cache_prompt", default=flags.cache_prompt)
    tokens = fields.boolean("return_tokens", default=False)
    progress = fields.boolean("return_progress", default=False)
    ping = fields.integer("sse_ping_interval", default=flags.http.sse_ping_interval, low=-1)
    lengths = _lengths(fields, flags, n_slots)
    sampling = _sampling(fields, flags.sampling)
    unfollowed = read_unfollowed(fields, tokenizer, flags.http.reasoning_format)
    params = replace(
        lengths,
        sampling=biased(sampling, fields, flags.sampling.logit_bias, tokenizer),
        stop=_stop(fields, flags),
        timings_per_token=timings,
        stream=stream,
        cache_prompt=cache_prompt,
        return_tokens=tokens,
        return_progress=progress,
        preserved=unfollowed.preserved,
        extra={**unfollowed.shown, "ignore_eos": fields.boolean("ignore_eos", default=sampling.ignore_eos)},
    )
    params = replace(params, sampling=replace(params.sampling, samplers=_samplers(fields, flags)))
    _refuse(fields)
    return RequestOptions(params, usage, fields.strings("response_fields"), ping, verbose)


def _refuse(fields: Fields) -> None:
    """Fields that are right and ask for what is not here; those that are wrong have been told before."""
    if fields.raw("json_schema") is not None:
        raise not_supported("JSON schemas")
    if isinstance(grammar := fields.raw("grammar"), str) and grammar:
        raise not_supported("grammars")


def _lengths(fields: Fields, flags: EngineFlags, n_slots: int) -> TaskParams:
    names = ("n_predict", "max_completion_tokens", "max_tokens")
    given = fields.find(*names)[1] is not None
    n_predict = fields.integer(*names, default=flags.n_predict, low=-1)
    return TaskParams(
        n_predict=n_predict if given and n_predict != -1 else None,
        requested_n_predict=n_predict,
        n_indent=fields.integer("n_indent", default=0, low=0),
        n_keep=fields.integer("n_keep", default=flags.n_keep, low=-1),
        n_discard=fields.integer("n_discard", default=0, low=0),
        n_cmpl=fields.integer("n_cmpl", "n", default=1, low=1, high=n_slots),
        n_cache_reuse=fields.integer("n_cache_reuse", default=flags.cache_reuse, low=0),
        t_max_predict_ms=fields.long_integer("t_max_predict_ms", default=-1, low=-1),
        id_slot=fields.lenient("id_slot", default=-1),
    )


def _sampling(fields: Fields, base: SamplingParams) -> SamplingParams:
    return SamplingParams(
        top_k=fields.clamped_integer("top_k", default=base.top_k, low=0),
        top_p=fields.real("top_p", default=base.top_p, low=0.0, high=1.0),
        min_p=fields.real("min_p", default=base.min_p, low=0.0, high=1.0),
        top_n_sigma=fields.real("top_n_sigma", default=base.top_n_sigma),
        xtc_probability=fields.real("xtc_probability", default=base.xtc_probability, low=0.0, high=1.0),
        xtc_threshold=fields.real("xtc_threshold", default=base.xtc_threshold, low=0.0, high=1.0),
        typical_p=fields.real("typical_p", default=base.typical_p),
        temperature=fields.real("temperature", default=base.temperature, low=0.0, high=math.inf),
        dynatemp_range=fields.real("dynatemp_range", default=base.dynatemp_range),
        dynatemp_exponent=fields.real("dynatemp_exponent", default=base.dynatemp_exponent),
        repeat_last_n=fields.integer("repeat_last_n", default=base.repeat_last_n, low=0),
        repeat_penalty=fields.real("repeat_penalty", default=base.repeat_penalty),
        frequency_penalty=fields.real("frequency_penalty", default=base.frequency_penalty),
        presence_penalty=fields.real("presence_penalty", default=base.presence_penalty),
        dry_multiplier=fields.real("dry_multiplier", default=base.dry_multiplier),
        dry_base=_dry_base(fields, base),
        dry_allowed_length=fields.integer("dry_allowed_length", default=base.dry_allowed_length, low=0),
        dry_penalty_last_n=fields.integer("dry_penalty_last_n", default=base.dry_penalty_last_n, low=0),
        mirostat=fields.clamped_integer("mirostat", default=base.mirostat, low=0, high=2),
        mirostat_tau=fields.real("mirostat_tau", default=base.mirostat_tau),
        mirostat_eta=fields.real("mirostat_eta", default=base.mirostat_eta),
        adaptive_target=fields.real("adaptive_target", default=base.adaptive_target, high=1.0),
        adaptive_decay=fields.checked_real("adaptive_decay", default=base.adaptive_decay, low=0.0, high=0.99),
        seed=fields.seed(default=base.seed),
        n_probs=fields.integer("n_probs", "logprobs", default=0),
        min_keep=fields.integer("min_keep", default=base.min_keep, low=0),
        post_sampling_probs=_sampling_place(fields),
        dry_sequence_breakers=_breakers(fields, base),
        ignore_eos=base.ignore_eos,
    )


def _sampling_place(fields: Fields) -> bool:
    """Whether probabilities are those after the chain; where the chain runs makes no difference here."""
    fields.boolean("backend_sampling", default=False)
    return fields.boolean("post_sampling_probs", default=False)


def _dry_base(fields: Fields, base: SamplingParams) -> float:
    value = fields.real("dry_base", default=base.dry_base, high=math.inf)
    return as_f32(base.dry_base) if value < 1 else value


def _breakers(fields: Fields, base: SamplingParams) -> tuple[str, ...]:
    check_adapters(fields.raw("lora"))
    value = fields.raw("dry_sequence_breakers")
    if value is None:
        return base.dry_sequence_breakers
    breakers = fields.strings("dry_sequence_breakers")
    if not breakers:
        why = "dry_sequence_breakers must be a non-empty array of strings"
        raise ApiError(f"Field 'dry_sequence_breakers': Error: {why}")
    return breakers


def _samplers(fields: Fields, flags: EngineFlags) -> tuple[str, ...]:
    """Names in any spelling, or a string of letters, each a byte; unknown ones are dropped, with a remark."""
    value = fields.raw("samplers")
    if isinstance(value, str):
        letters = [bytes((byte,)).decode(errors="replace") for byte in value.encode()]
        _remark_unknown("char", [letter for letter in letters if not sampler_letters(letter)])
        return sampler_letters(value)
    if not isinstance(value, list):
        return flags.sampling.samplers
    for word in value:
        if not isinstance(word, str):
            raise wrong_type("samplers", "string", word)
    _remark_unknown("name", [word.lower() for word in value if not sampler_names([word])])
    return sampler_names(value)


def _remark_unknown(kind: str, unknown: Sequence[str]) -> None:
    for one in unknown:
        remark(f"common_sampler_types_from_{kind}s: unable to match sampler by {kind} '{one}'")


def _stop(fields: Fields, flags: EngineFlags) -> tuple[str, ...]:
    """Stop strings; empty ones stay, as in the server, where they end a run after its first token."""
    value = fields.raw("stop")
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list):
        return flags.reverse_prompt
    words: list[str] = []
    for item in value:
        if item is None or item in ([], {}):
            continue
        if not isinstance(item, str):
            raise wrong_type("stop", "string", item)
        words.append(item)
    return tuple(words) or flags.reverse_prompt
