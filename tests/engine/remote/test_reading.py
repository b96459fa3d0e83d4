"""Readers of untrusted answers: one bad field costs that field, and nothing is ever raised."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotview.engine.remote.read.body import NotJsonError, parse_json, strip_texts
from slotview.engine.remote.read.errors import read_refusal, state_of
from slotview.engine.remote.read.health import HealthFacts, read_health
from slotview.engine.remote.read.metrics import read_metrics, read_totals
from slotview.engine.remote.read.models import ModelEntry, read_models, read_running
from slotview.engine.remote.read.props import build_number, read_props
from slotview.engine.remote.read.slots import read_details, read_slots
from slotview.engine.remote.read.values import as_bool, as_count, as_int, as_number
from slotview.engine.snapshot import EndpointState, SlotState, SlotView
from tests.engine.remote.recorded import body, recorded, slot

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
KEYS = ["id", "n_ctx", "is_processing", "state", "id_task", "task_id", "n_prompt_tokens", "next_token", "params",
        "n_prompt_tokens_processed", "n_prompt_tokens_cache", "prompt", "generated", "truncated"]  # fmt: skip
ODD_SLOTS = st.lists(st.dictionaries(st.sampled_from(KEYS), JSON) | JSON, max_size=4)
ODD: list[object] = [
    None,
    True,
    "",
    "x",
    "12",
    -1,
    2.5,
    1e300,
    10**30,
    [],
    [[]],
    {},
    {"a": 1},
    float("nan"),
    float("inf"),
]


def view(**fields: Any) -> SlotView:
    slots = read_slots([slot(decoded=5) | fields])
    assert slots is not None
    return slots[0]


@given(ODD_SLOTS)
def test_slots_of_any_shape_are_read(rows: list[Any]) -> None:
    slots = read_slots(rows)
    n_objects = sum(isinstance(row, dict) for row in rows)
    if slots is None:
        assert not any(isinstance(row, dict) and isinstance(row.get("is_processing"), bool) for row in rows)
        return
    assert len(slots) == n_objects
    assert len({one.id for one in slots}) == len(slots)
    for one in slots:
        counts = (one.n_ctx, one.n_tokens, one.n_decoded, one.n_remain, one.n_prompt_processed, one.task)
        assert all(count is None or (type(count) is int and 0 <= count <= 2**53) for count in counts)
        read_details(rows, one.id)


@given(JSON)
def test_answers_of_any_shape_are_read(answer: Any) -> None:
    read_slots(answer)
    read_health(answer)
    read_props(answer)
    read_models(answer)
    read_running(answer)
    for status in (400, 401, 404, 500, 501, 503):
        assert state_of(read_refusal(status, json.dumps(answer).encode())) is not EndpointState.UNKNOWN


@given(st.binary(max_size=200), st.sampled_from([400, 401, 403, 404, 500, 501, 502, 503]))
def test_bytes_of_any_kind_are_read(content: bytes, status: int) -> None:
    read_refusal(status, content)
    read_metrics(content)
    with suppress(NotJsonError):
        read_slots(parse_json(content))


@pytest.mark.parametrize("value", ODD)
@pytest.mark.parametrize(
    "key", ["n_ctx", "n_prompt_tokens", "id_task", "n_prompt_tokens_processed", "next_token", "id"]
)
def test_a_bad_field_costs_that_field_only(key: str, value: Any) -> None:
    good = view()
    odd = view(**{key: value})
    kept = {"n_ctx", "n_tokens", "task", "n_prompt_processed", "n_prompt_cached"} - {
        {"n_prompt_tokens": "n_tokens", "id_task": "task", "n_prompt_tokens_processed": "n_prompt_processed"}.get(
            key, key
        )
    }
    assert all(getattr(odd, name) == getattr(good, name) for name in kept)
    assert odd.is_busy


def test_numbers_as_strings_count() -> None:
    odd = view(n_ctx="2048", n_prompt_tokens="17", id_task="9", next_token=[{"n_decoded": "4", "n_remain": "6"}])
    assert (odd.n_ctx, odd.n_tokens, odd.task, odd.n_decoded, odd.n_remain) == (2048, 17, 9, 4, 6)


def test_equal_and_missing_ids_become_distinct() -> None:
    rows = [slot(2), slot(2), {"is_processing": True}, slot(0), slot(-4)]
    slots = read_slots(rows)
    assert slots is not None
    assert [one.id for one in slots] == [2, 1, 3, 0, 4]


def test_rows_that_are_no_objects_are_passed_over() -> None:
    slots = read_slots([None, slot(0), 7, "x", slot(1)])
    assert slots is not None
    assert [one.id for one in slots] == [0, 1]


def test_slots_inside_an_object() -> None:
    assert read_slots({"status": "ok", "slots": [slot(3)]}) == read_slots([slot(3)])
    assert read_slots({"error": {}}) is None
    assert read_slots("[]") is None


@pytest.mark.parametrize("name", ["slots_generating", "slots_after"])
def test_recorded_phases(name: str) -> None:
    states = {"slots_generating": SlotState.GENERATING, "slots_after": SlotState.IDLE}
    slots = read_slots(body(name))
    assert slots is not None
    assert states[name] in {one.state for one in slots}
    for row, one in zip(body(name), slots, strict=True):
        assert one.n_tokens == row.get("n_prompt_tokens")
        assert one.task == row.get("id_task")
        assert one.is_busy == row["is_processing"]


def test_debug_texts_are_told_on_request() -> None:
    details = read_details(body("slots_debug"), 1)
    assert details is not None
    assert details.prompt == "Once upon a time there was a llama who"
    assert details.generated == " was a blacksmith. He made all sorts"
    assert details.params["top_k"] == 40
    assert read_details(body("slots_debug"), 9) is None


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"status": "ok"}, HealthFacts("ok")),
        ({"status": "ok", "sleeping": True}, HealthFacts("ok", sleeping=True)),
        ({"status": "loading model"}, HealthFacts("loading model", loading=True)),
        ({"error": {"code": 503, "message": "Loading model"}}, HealthFacts("Loading model", loading=True)),
        ({"status": "error"}, HealthFacts("error", failed=True)),
        (
            {"status": "no slot available", "slots_idle": 0, "slots_processing": 4},
            HealthFacts("no slot available", idle=0, processing=4),
        ),
        ({"healthy": True}, None),
        (["ok"], None),
    ],
)
def test_health_in_all_its_shapes(answer: object, expected: HealthFacts | None) -> None:
    assert read_health(answer) == expected


PROMETHEUS = "# TYPE\nllamacpp:requests_processing 1\nllamacpp:requests_deferred 2\n"


@pytest.mark.parametrize(
    "text",
    [
        PROMETHEUS,
        "\ufeff" + PROMETHEUS,
        json.dumps(PROMETHEUS),
        " " + json.dumps(PROMETHEUS),
        json.dumps(PROMETHEUS)[:-1],
    ],
)
def test_metrics_may_be_wrapped_in_a_string_of_json(text: str) -> None:
    assert read_metrics(text.encode()) == {"requests_processing": 1.0, "requests_deferred": 2.0}


# Bodies


@pytest.mark.parametrize("depth", [3, 200, 900])
def test_a_parameter_however_deep_costs_itself_only(depth: int) -> None:
    nested = '{"a":' * depth + "1" + "}" * depth
    answer = parse_json(f'[{{"id":0,"is_processing":true,"params":{{"top_k":40,"x":{nested}}}}}]'.encode())
    details = read_details(answer, 0)
    assert details is not None
    assert details.params["top_k"] == 40
    assert str(details.params["x"]).startswith(("{'a': {", "nested too deeply"))


def test_large_bodies_lose_their_texts_only() -> None:
    tail: dict[str, Any] = {"prompt": 'he said "no" \\', "generated": "\\\\", "n": [1, {"prompt": "x", "y": "z"}]}
    rows = [slot(0, **tail), slot(1, prompt="", decoded=3)]
    emptied = json.loads(strip_texts(json.dumps(rows).encode()))
    assert emptied[0]["prompt"] == emptied[0]["generated"] == emptied[0]["n"][1]["prompt"] == ""
    assert emptied[0]["n"][1]["y"] == "z"
    assert read_slots(emptied) == read_slots(rows)


@given(st.text(max_size=30), st.text(max_size=30))
def test_emptying_texts_keeps_everything_else(prompt: str, other: str) -> None:
    content = json.dumps({"a": other, "prompt": prompt, "b": other}).encode()
    assert json.loads(strip_texts(content)) == {"a": other, "prompt": "", "b": other}


@pytest.mark.parametrize("size", [0, 600_000])
def test_broken_bodies_say_what_is_wrong(size: int) -> None:
    filler = b" " * size
    for content, words in [
        (b"", "an empty body"),
        (b"[1,", "cut off"),
        (b'[{"id":0,"n_c', "cut off"),
        (b"<!doctype html><p>", "web page"),
        (b"[" * 100_000, "nested too deeply"),
        (b"OK", "no JSON"),
    ]:
        with pytest.raises(NotJsonError, match=words):
            parse_json(content + filler)


@pytest.mark.parametrize("padding", ["", "x" * 600_000])
def test_odd_but_readable_bodies(padding: str) -> None:
    rows = b'\xef\xbb\xbf[{"id":0,"is_processing":true,"n_ctx":' + b"9" * 5000 + b',"model":"\xff\xfe\\ud83d","x":NaN,'
    rows += b'"id_task":3,"note":"a\nb\x01' + padding.encode() + b'"}]'
    slots = read_slots(parse_json(rows))
    assert slots is not None
    assert (slots[0].task, slots[0].n_ctx, slots[0].is_busy) == (3, None, True)


# Values


@pytest.mark.parametrize(
    ("value", "number"),
    [(2, 2), (2.0, 2), ("2", 2), (" 7 ", 7), (2.5, None), (True, None), (None, None), ("nan", None), (1e400, None),
     (10**400, None), ("1e3", 1000), ([], None), (-1, -1), (2**60, None), (2**53 + 1, None),
     ("9007199254740993", None)],
)  # fmt: skip
def test_whole_numbers(value: object, number: int | None) -> None:
    assert as_int(value) == number
    assert as_count(value) == (number if number is None or number >= 0 else None)


def test_other_values() -> None:
    assert [as_bool(value) for value in (True, 0, 1, "true", "0", "maybe", 2, None)] == [
        True, False, True, True, False, None, None, None,
    ]  # fmt: skip
    assert as_number("0.5") == 0.5
    assert as_number({}) is None


# Other endpoints


def test_props_of_this_build() -> None:
    props = read_props(body("props"))
    assert props is not None
    assert (props.n_slots, props.n_ctx_slot, props.sleeping, props.router) == (4, 2048, False, False)
    assert (props.has_slots, props.has_metrics) == (True, True)
    assert props.model == "SmolLM2-135M-Instruct-Q4_1.gguf"


def test_props_of_2024_and_before() -> None:
    nested = read_props(
        {"total_slots": 2, "default_generation_settings": {"id": 0, "n_ctx": 512, "model": "/m/a.gguf"}}
    )
    assert nested is not None
    assert (nested.n_slots, nested.n_ctx_slot, nested.model) == (2, 512, "a.gguf")
    oldest = read_props({"user_name": "", "assistant_name": "", "system_prompt": ""})
    assert oldest is not None
    assert oldest.oldest
    assert oldest.n_slots is None
    later = read_props({"assistant_name": "", "total_slots": 1, "default_generation_settings": {"n_ctx": 0}})
    assert later is not None
    assert (later.oldest, later.n_slots, later.n_ctx_slot) == (False, 1, None)
    assert read_props({"hello": 1}) is None


@pytest.mark.parametrize(
    ("build", "number"),
    [("b11434-0123abc", 11434), ("b0-unknown", None), ("b1-x", None), (None, None), ("v1.2", None)],
)
def test_build_numbers(build: str | None, number: int | None) -> None:
    assert build_number(build) == number


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("/models/a.gguf", "a.gguf"),
        ("C:\\models\\a.gguf", "a.gguf"),
        ("ggml-org/gemma-3", "ggml-org/gemma-3"),
        ("x", "x"),
    ],
)
def test_names_of_models(alias: str, name: str) -> None:
    props = read_props({"model_alias": alias, "total_slots": 1})
    assert props is not None
    assert props.model == name


def test_lists_of_models() -> None:
    (own,) = read_models(body("models")) or ()
    assert (own.n_ctx_train, own.n_params) == (8192, 134515008)
    routed = read_models(
        {"data": [{"id": "a", "status": {"value": "loaded", "args": ["-np", "2", 3]}}, {"id": 7}, None]}
    )
    assert routed == (ModelEntry("a", "loaded", ("-np", "2")),)
    (known,) = read_models({"data": [{"id": 7, "aliases": ["b"], "meta": {"n_params": 5}}]}) or ()
    assert (known.name, known.n_params) == ("b", 5)
    assert read_running({"running": [{"model": "m", "state": "ready"}, {"state": "x"}]}) == (ModelEntry("m", "ready"),)
    assert read_running({"running": {}}) is None
    assert (read_running({"running": None}), read_running({})) == ((), None)


def test_metrics_with_labels_prefixes_and_junk() -> None:
    content = (
        b'llamacpp:requests_processing{model="a b}"} 1\nllamacpp:requests_processing{model="c"} 2\r\n'
        b"llamacpp:requests_deferred\nother:thing 5\nllamacpp:tokens_predicted_total 1.23457e+06 1700000000\n"
        b"llamacpp:n_decode_total -3\n garbage \xff\nllamacpp:n_past_max 77\n"
    )
    values = read_metrics(content)
    assert values is not None
    totals = read_totals(values)
    assert (totals.processing, totals.predicted_tokens, totals.decodes, totals.n_tokens_max) == (3, 1234570, None, 77)
    assert values["requests_deferred"] is None
    assert read_metrics(b"# HELP x\nother 1\n") is None
    assert read_metrics(b"<html></html>") is None


def test_an_average_of_one_model_is_not_shown_for_all() -> None:
    names = ("requests_deferred", "n_busy_slots_per_decode", "kv_cache_usage_ratio", "n_tokens_max")
    lines = [f'llamacpp:{name}{{model="{model}"}} {value}' for name in names for model, value in (("a", 2), ("b", 0.5))]
    values = read_metrics("\n".join([*lines, lines[0], ""]).encode())
    assert values == {
        "requests_deferred": 2.5,
        "n_busy_slots_per_decode": None,
        "kv_cache_usage_ratio": None,
        "n_tokens_max": 2.0,
    }


def test_of_contradicting_incomplete_and_cut_off_metrics_nothing_is_guessed() -> None:
    content = (
        b"llamacpp:n_decode_total 5\nllamacpp:n_decode_total 6\n  llamacpp:prompt_tokens_total 9\n"
        b'llamacpp:requests_processing{model="a"} 1\nllamacpp:requests_processing{model="b"} nan\n'
        b"llamacpp:requests_deferred 2.5\nllamacpp:tokens_predicted_total 90"
    )
    totals = read_totals(read_metrics(content) or {})
    assert (totals.decodes, totals.prompt_tokens) == (None, 9.0)
    assert (totals.processing, totals.predicted_tokens) == (None, None)


@pytest.mark.parametrize(("told", "known"), [("0.25", 0.25), ("1", 1.0), ("35.2", None), ("-1", None), ("nan", None)])
def test_a_share_of_cells_is_a_share(told: str, known: float | None) -> None:
    values = read_metrics(f"llamacpp:kv_cache_usage_ratio {told}\n".encode())
    assert values is not None
    assert read_totals(values).kv_ratio == known


def test_recorded_metrics() -> None:
    totals = read_totals(read_metrics(recorded("metrics_busy").body) or {})
    assert (totals.prompt_tokens, totals.decodes, totals.processing) == (56, 52, 4)


@pytest.mark.parametrize(
    ("status", "content", "message", "state"),
    [
        (401, b'{"error":{"message":"Invalid API Key"}}', "Invalid API Key", EndpointState.KEY),
        (401, b'{"error":"Unauthorized"}', "Unauthorized", EndpointState.KEY),
        (404, b"not here\nreally", "not here", EndpointState.ABSENT),
        (502, b"<html><title>502 Bad Gateway</title></html>", "502 Bad Gateway", EndpointState.NO_ANSWER),
        (503, b'{"status":"loading model"}', "loading model", EndpointState.LOADING),
        (503, b"", "Service Unavailable", EndpointState.NO_ANSWER),
        (526, b"", "no reason given", EndpointState.NO_ANSWER),
        (403, b'{"error":{"message":"off","type":"feature_disabled"}}', "off", EndpointState.OFF),
        (500, b'{"detail":"boom\\u001b[31m"}', "boom␛[31m", EndpointState.BAD),
        (302, b"", "Found", EndpointState.BAD),
        (522, b"<title>Connection timed out</title>", "Connection timed out", EndpointState.NO_ANSWER),
        (504, b"<HTML><TITLE>\nGateway\nTime-out\n</TITLE>", "Gateway Time-out", EndpointState.NO_ANSWER),
    ],
)
def test_refusals(status: int, content: bytes, message: str, state: EndpointState) -> None:
    refusal = read_refusal(status, content)
    assert (refusal.message, state_of(refusal)) == (message, state)


@pytest.mark.parametrize(
    ("asked_for", "password"),
    [
        ('Basic realm="x"', True),
        ('Negotiate, Basic realm="x"', True),
        ('Bearer realm="x", basic', True),
        ('Bearer realm="basic"', False),
        ('Basic realm="llama-swap"', False),
        ('Digest realm="basic", qop="auth"', False),
        ("", False),
    ],
)
def test_a_password_is_told_from_a_key(asked_for: str, password: bool) -> None:
    assert read_refusal(401, b"", asked_for).wants_password is password
