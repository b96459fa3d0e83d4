"""Parameters of a completion (spec §8.3)."""

from __future__ import annotations

import math

import pytest

from slotview.engine.flags import parse_flags
from slotview.engine.model.sampling_params import DEFAULT_SAMPLERS
from slotview.engine.serve.answers.params_json import params_json
from slotview.engine.serve.bodies.params import RequestOptions, read_params
from slotview.engine.serve.bodies.remarks import listen
from slotview.engine.serve.errors import ApiError
from tests.engine.stub_model import ByteTokenizer

FULL_ORDER = (
    "verbose", "timings_per_token", "stream", "cache_prompt", "return_tokens", "return_progress", "sse_ping_interval",
    "n_predict", "n_indent", "n_keep", "n_discard", "n_cmpl", "n_cache_reuse", "t_max_predict_ms", "top_k", "top_p",
    "min_p", "top_n_sigma", "xtc_probability", "xtc_threshold", "typical_p", "temperature", "dynatemp_range",
    "dynatemp_exponent", "repeat_last_n", "repeat_penalty", "frequency_penalty", "presence_penalty", "dry_multiplier",
    "dry_base", "dry_allowed_length", "dry_penalty_last_n", "mirostat", "mirostat_tau", "mirostat_eta",
    "adaptive_target", "adaptive_decay", "seed", "n_probs", "min_keep", "post_sampling_probs",
    "dry_sequence_breakers", "ignore_eos", "stop", "samplers",
)  # fmt: skip


def read(body: dict[str, object], words: str = "") -> RequestOptions:
    return read_params(body, parse_flags(words.split()), 2, ByteTokenizer())


def refused(body: dict[str, object]) -> str:
    with pytest.raises(ApiError) as told:
        read(body)
    return told.value.message


def test_of_several_wrong_fields_the_servers_first_is_told() -> None:
    body: dict[str, object] = {name: {} for name in reversed(FULL_ORDER)} | {"stop": [5], "samplers": [5]}
    for name in FULL_ORDER:
        assert refused(body).startswith(f"Field '{name}': ")
        del body[name]
    assert read(body).params.n_cmpl == 1


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"lora": {}}, "Field 'lora': Error: 'lora' must be an array of objects with 'id' and 'scale' fields"),
        ({"json_schema": 5}, "Field 'json_schema': "),
        ({"reasoning_format": "x"}, "Field 'reasoning_format': Unknown reasoning format: x"),
        ({"chat_format": 99}, "Unknown chat format"),
        ({"chat_parser": "{"}, "Field 'chat_parser': [json.exception.parse_error.101] parse error"),
        ({"chat_parser": "{}"}, "Field 'chat_parser': JSON missing or invalid 'parsers' array"),
        ({"preserved_tokens": [5]}, "Field 'preserved_tokens': "),
        ({"grammar_triggers": [5]}, "Field 'grammar_triggers': "),
        (
            {"grammar_triggers": [{"value": "a"}]},
            "Field 'grammar_triggers': [json.exception.out_of_range.403] key 'type'",
        ),
        ({"grammar_triggers": [{"type": "x", "value": "a"}]}, "Field 'grammar_triggers': "),
        ({"grammar_triggers": [{"type": 2, "value": 5}]}, "Field 'grammar_triggers': "),
        (
            {"grammar_triggers": [{"type": 0, "value": "a"}]},
            "Field 'grammar_triggers': [json.exception.out_of_range.403]",
        ),
        (
            {"grammar_triggers": [{"type": 1, "value": "a"}]},
            "Field 'grammar_triggers': Grammar trigger word should be marked as preserved token: a",
        ),
    ],
)
def test_fields_that_nothing_follows_are_checked_all_the_same(body: dict[str, object], message: str) -> None:
    assert refused(body).startswith(message)


def test_fields_that_nothing_follows_are_shown() -> None:
    pairs = [(1, "a"), (1, "bc"), (2, "x")]
    triggers = [{"type": kind, "value": value} for kind, value in pairs]
    last = {"type": 0, "value": "y", "token": 7}
    adapters = [{"id": 2, "scale": 0.5}, {"id": 0}]
    body = {"preserved_tokens": ["a", "bc"], "grammar_triggers": [*triggers, last], "lora": adapters}
    params = read(body).params
    assert params.preserved == {97}
    assert params.extra["grammar_triggers"] == [{"type": 0, "value": "a", "token": 97}, *triggers[1:], last]
    assert params.extra["lora"] == [{"id": 0, "scale": 0.0}, {"id": 2, "scale": 0.5}]


def test_defaults_come_from_the_command_line() -> None:
    options = read({}, "-n 7 --keep 3 -r end --no-cache-prompt --cache-reuse 5 --temp 0.25 --sse-ping-interval 4")
    params = options.params
    assert (params.requested_n_predict, params.n_predict, params.n_keep) == (7, None, 3)
    assert (params.stop, params.cache_prompt, params.n_cache_reuse) == (("end",), False, 5)
    assert (params.sampling.temperature, options.sse_ping_interval) == (0.25, 4)


@pytest.mark.parametrize(("given", "limit"), [(None, None), (-1, None), (0, 0), (5, 5), (2.7, 2)])
def test_n_predict_minus_one_means_the_servers_limit(given: object, limit: int | None) -> None:
    assert read({"n_predict": given}, "-n 9").params.n_predict == limit


def test_samplers_in_any_spelling() -> None:
    assert read({"samplers": ["TOP-K", "temp", "nucleus", "x"]}).params.sampling.samplers == (
        "top_k",
        "temperature",
        "top_p",
    )
    assert read({"samplers": "kpz"}).params.sampling.samplers == ("top_k", "top_p")
    assert read({"samplers": []}).params.sampling.samplers == ()
    assert read({"samplers": 5}).params.sampling.samplers == DEFAULT_SAMPLERS


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("top_p", 0, 1),
        ("min_p", 0, 1),
        ("xtc_probability", 0, 1),
        ("xtc_threshold", 0, 1),
        ("mirostat", 0, 2),
        ("top_k", 0, 9999),
        ("temperature", 0, 9999),
        ("adaptive_target", -9999, 1),
    ],
)
def test_what_is_out_of_range_is_brought_into_it(name: str, low: int, high: int) -> None:
    given = (-9999, low, high, 9999)
    assert [getattr(read({name: value}).params.sampling, name) for value in given] == [low, low, high, high]


def test_samplers_that_nobody_knows_are_remarked() -> None:
    heard: list[str] = []
    listen(heard.append)
    read({"samplers": ["top_k", "Bogus"]})
    read({"samplers": "k!"})
    told = "unable to match sampler by"
    assert heard == [
        f"common_sampler_types_from_names: {told} name 'bogus'",
        f"common_sampler_types_from_chars: {told} char '!'",
    ]


@pytest.mark.parametrize(
    ("stream", "asked", "expected"),
    [(True, "deepseek-legacy", True), (False, "deepseek-legacy", False), (True, "deepseek", False)],
)
def test_thoughts_stand_in_the_content_of_old_streams(stream: bool, asked: str, expected: bool) -> None:
    shown = params_json(read({"stream": stream, "reasoning_format": asked}).params, full=True)
    assert (shown["reasoning_format"], shown["reasoning_in_content"]) == (asked, expected)


def test_logit_bias_of_ids_texts_and_false() -> None:
    pairs = [[5, 1], ["ab", False], [6, True], [999, 1], [-1, 1], [1.5, 1], [True, 1], [7], "x"]
    bias = read({"logit_bias": pairs}).params.sampling.logit_bias
    assert bias == ((5, 1.0), (97, -math.inf), (98, -math.inf))
    by_name = {"logit_bias": {"5": 2, "a": -1, "": 3}}
    options = read_params(by_name, parse_flags([]), 2, ByteTokenizer(add_bos=True))
    assert options.params.sampling.logit_bias == ((5, 2.0), (97, -1.0), (0, 3.0))


def test_ignore_eos_forbids_every_end_token_after_the_own_bias() -> None:
    assert read({"ignore_eos": True, "logit_bias": [[0, 3]]}).params.sampling.logit_bias == ((0, 3.0), (0, -math.inf))


@pytest.mark.parametrize(
    ("given", "words"),
    [("x", ("x",)), ([], ("end",)), (5, ("end",)), ([None, [], "y"], ("y",)), ("", ("",)), (None, ("end",))],
)
def test_stop_strings_or_the_servers_own(given: object, words: tuple[str, ...]) -> None:
    assert read({"stop": given}, "-r end").params.stop == words


@pytest.mark.parametrize("field", [{"grammar": "root ::= x"}, {"json_schema": {}}], ids=str)
def test_what_is_no_part_of_a_slot_engine_is_refused_clearly(field: dict[str, object]) -> None:
    with pytest.raises(ApiError) as told:
        read(field)
    assert told.value.status == 501
    assert "does not support" in told.value.message
    assert refused({**field, "n_probs": "x"}).startswith("Field 'n_probs'")


def test_fields_that_ask_for_nothing_are_read_over() -> None:
    body: dict[str, object] = {"grammar": 5, "lora": [], "tools": [5], "response_format": {"type": "x"}}
    assert read(body).params.n_cmpl == read({"grammar": ""}).params.n_cmpl == 1
