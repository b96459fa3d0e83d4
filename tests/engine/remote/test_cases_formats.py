"""Cases from the field: formats of /slots, /health, /props, and look-alikes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from slotview.engine.remote.once import ExitCode, snapshot_once
from slotview.engine.remote.read.body import parse_json
from slotview.engine.remote.read.errors import read_refusal
from slotview.engine.remote.read.slots import read_details, read_slots
from slotview.engine.snapshot import EndpointState, HealthState, SlotState, SlotView
from slotview.engine.text.plain import plain
from tests.engine.remote.recorded import (
    HTML,
    body,
    first_look,
    from_json,
    healthy,
    recorded,
    slot,
    watching,
)
from tests.fake_server import NOT_FOUND, FakeServer, Reply, error_reply, json_reply

OLD = (
    '[{"id":0,"task_id":0,"state":1,"n_ctx":2048,"n_predict":100,"model":"m.gguf","temperature":0.0,"seed":42,'
    '"stop":["\\n"],"stream":false,"prompt":"Say hello","samplers":["top_k","temperature"],"next_token":'
    '{"has_next_token":true,"n_remain":-1,"n_decoded":0,"stopped_eos":false,"stopped_limit":false,'
    '"stopped_word":false,"stopping_word":""}}]'
)


def shown(content: str) -> tuple[SlotView, ...]:
    """The slots on screen when a server's /slots answers with this text."""
    with FakeServer(healthy(from_json(content))) as server:
        slots = first_look(server).slots
    assert slots is not None
    return slots


def one(row: Mapping[str, Any]) -> SlotView:
    slots = read_slots(parse_json(json.dumps([row]).encode()))
    assert slots is not None
    return slots[0]


def test_c58_idle_slot_with_left_over_numbers() -> None:
    old = (
        '{"id":0,"n_ctx":4096,"is_processing":false,"id_task":5,'
        '"next_token":[{"has_next_token":false,"n_remain":88,"n_decoded":40}]}'
    )
    new = (
        '{"id":3,"n_ctx":1024,"speculative":false,"is_processing":false,"id_task":13,"n_prompt_tokens":2,'
        '"n_prompt_tokens_processed":0,"n_prompt_tokens_cache":0,"next_token":[{"has_next_token":false,'
        '"has_new_line":false,"n_remain":-1,"n_decoded":0}],"params":{"n_predict":2,"max_tokens":2}}'
    )
    first, second = shown(f"[{old},{new}]")
    assert (first.state, first.n_decoded, first.n_remain, first.unlimited) == (SlotState.IDLE, None, None, False)
    assert (second.state, second.n_tokens, second.n_remain, second.task) == (SlotState.IDLE, 2, None, 13)
    after_error = one({"id": 0, "is_processing": False, "id_task": 1, "next_token": [{"has_next_token": True}]})
    assert after_error.state is SlotState.IDLE


def test_c60_first_format() -> None:
    (view,) = shown(OLD)
    assert view.is_busy
    assert (view.task, view.n_decoded, view.n_ctx) == (0, 0, 2048)
    assert (view.n_remain, view.unlimited) == (100, False)
    assert view.n_tokens is None


def test_c60_parameters_stand_in_the_slot_itself() -> None:
    details = read_details(json.loads(OLD), 0)
    assert details is not None
    assert details.params["temperature"] == 0.0
    assert details.prompt == "Say hello"
    assert details.view == (read_slots(json.loads(OLD)) or ())[0]


@pytest.mark.parametrize(
    ("told", "decoded", "left"),
    [
        ({"n_predict": -1, "max_tokens": 64}, 0, (64, False)),
        ({"n_predict": 500, "max_tokens": -1}, 3, (497, False)),
        ({"n_predict": 500, "max_tokens": 64}, 0, (64, False)),
        ({"n_predict": -1, "max_tokens": -1}, 0, (None, True)),
        ({}, 0, (None, False)),
        ({}, 5, (None, True)),
    ],
)
def test_c60_the_limit_of_a_task_is_told_in_two_places(
    told: dict[str, int], decoded: int, left: tuple[int | None, bool]
) -> None:
    token = {"has_next_token": True, "n_remain": -1, "n_decoded": decoded}
    row = {"id": 0, "state": 1, "id_task": 3, "n_ctx": 512, "next_token": token}
    for one in (row | told, {**row, "params": told}):
        (view,) = read_slots([one]) or ()
        assert (view.n_remain, view.unlimited) == left


@pytest.mark.parametrize(("state", "busy"), [(0, False), (1, True), (2, True), (4, True), (99, True), ("1", True)])
def test_c61_any_state_but_zero_is_busy(state: object, busy: bool) -> None:
    assert one({"id": 0, "state": state, "n_ctx": 512}).is_busy is busy


@pytest.mark.parametrize(
    ("told", "busy"),
    [
        ("yes", True),
        ("no", False),
        ("On", True),
        (2, True),
        ("processing", True),
        ("idle", False),
        ([], None),
        (None, None),
    ],
)
def test_c62_is_processing_in_other_words(told: object, busy: bool | None) -> None:
    slots = read_slots([{"id": 0, "is_processing": told, "id_task": 3}])
    assert (None if slots is None else slots[0].is_busy) is busy


def test_c62_is_processing_replaces_state() -> None:
    (view,) = shown(
        '[{"id":0,"id_task":0,"n_ctx":16384,"speculative":false,"is_processing":false,"non_causal":false,"params":'
        '{"n_predict":-1,"seed":4294967295},"prompt":"","next_token":{"has_next_token":true,"has_new_line":false,'
        '"n_remain":-1,"n_decoded":0,"stopping_word":""}}]'
    )
    assert view.state is SlotState.IDLE
    assert not one({"id": 0, "state": 1, "is_processing": False}).is_busy
    assert one({"id": 0, "state": 0, "is_processing": True}).is_busy


@pytest.mark.parametrize(
    ("token", "decoded", "state"),
    [
        ({"next_token": [{"n_decoded": 65, "n_remain": 900}]}, 65, SlotState.GENERATING),
        ({"next_token": {"n_decoded": 65, "n_remain": 900}}, 65, SlotState.GENERATING),
        ({"next_token": []}, None, SlotState.BUSY),
        ({"next_token": None}, None, SlotState.BUSY),
        ({}, None, SlotState.BUSY),
    ],
)
def test_c63_next_token_in_five_forms(token: dict[str, Any], decoded: int | None, state: SlotState) -> None:
    view = one({"id": 1, "n_ctx": 2048, "is_processing": True, "id_task": 9, **token})
    assert (view.n_decoded, view.state) == (decoded, state)


def test_c64_never_used_slot() -> None:
    fresh, erased = read_slots([{"id": 0, "n_ctx": 131072, "speculative": False, "is_processing": False},
                                slot(1, busy=False, n_prompt_tokens=0)]) or ()  # fmt: skip
    assert (fresh.state, fresh.n_tokens) == (SlotState.UNUSED, None)
    assert (erased.state, erased.n_tokens) == (SlotState.IDLE, 0)


@pytest.mark.parametrize("message", ["This server does not support slots endpoint. Start it with `--slots`",
                                     "This server does not support slots endpoint."])  # fmt: skip
def test_c65_slots_switched_off(message: str) -> None:
    props = {key: value for key, value in body("props").items() if not key.startswith("endpoint_")}
    off = error_reply(501, message, "not_supported_error")
    with FakeServer(healthy(off, props=json_reply(props))) as server, watching(server) as backend:
        snapshot = backend.wait_until(lambda s: s.health.state is HealthState.OK, 5)
    assert snapshot.slots is None
    assert snapshot.facts.endpoints["slots"].state is EndpointState.OFF
    assert snapshot.waiting.count == 0
    assert "only /metrics is shown" in snapshot.health.message
    assert "--slots" in snapshot.health.advice


def test_c65_props_tell_in_advance() -> None:
    with FakeServer(healthy(props=recorded("props_slots_off"))) as server, watching(server) as backend:
        snapshot = backend.wait_until(lambda s: s.health.state is HealthState.NOTHING, 5)
        assert not server.asked("/slots")
    assert "without its slots view and without --metrics" in snapshot.health.message


ALL_BUSY = {"status": "no slot available", "slots_idle": 0, "slots_processing": 32}


@pytest.mark.parametrize(
    ("reply", "counts"),
    [
        (json_reply({"status": "ok", "slots_idle": 1, "slots_processing": 2}), (3, 2)),
        (json_reply(ALL_BUSY), (32, 32)),
        (json_reply(ALL_BUSY, 503), (32, 32)),
        (json_reply({"status": "ok", "sleeping": True}), (None, None)),
    ],
)
def test_c66_busy_is_not_unhealthy(reply: Reply, counts: tuple[int | None, int | None]) -> None:
    """An old server without /slots, so that its counts come from /health."""
    with FakeServer({"/health": reply}) as server, watching(server) as backend:
        snapshot = backend.wait_until(lambda s: s.health.state is HealthState.NOTHING, 5)
    assert snapshot.health.state is HealthState.NOTHING
    assert (snapshot.facts.n_slots, snapshot.totals.processing) == counts


@pytest.mark.parametrize("reply", [json_reply({"status": "loading model"}, 503), recorded("health_loading_503")])
def test_c66_loading_in_two_shapes(reply: Reply) -> None:
    routes = {"/health": reply, "/props": reply, "/slots": reply}
    with FakeServer(dict(routes), default=reply) as server, watching(server) as backend:
        snapshot = backend.wait_until(lambda s: s.health.state is HealthState.LOADING, 5)
    assert snapshot.health.state is HealthState.LOADING


def test_c68_no_slot_available_means_all_busy() -> None:
    full = recorded("slots_full_503")
    with FakeServer(healthy([json_reply([slot()]), full])) as server, watching(server) as backend:
        server.wait_for("/slots", 3)
        snapshot = backend.wait_until(lambda s: bool(s.health.message), 5)
        assert all("fail_on_no_slot" not in request.query for request in server.requests)
    assert snapshot.health.state is HealthState.OK
    assert snapshot.health.message == "no slot available"
    assert snapshot.busy == 1


@pytest.mark.parametrize("tokens", [2560, 5120, 51200])
def test_c69_prefill_has_no_total(tokens: int) -> None:
    view = one(slot(n_prompt_tokens=tokens, n_prompt_tokens_processed=tokens))
    assert (view.state, view.n_tokens, view.n_prompt) == (SlotState.PROMPT, tokens, None)


def test_c69_fork_that_tells_the_total() -> None:
    view = one(slot(n_prompt_tokens=3072, n_prompt_tokens_processed=3072, n_prompt_tokens_target=34228))
    assert view.n_prompt == 34228


def test_c70_tokens_include_the_answer() -> None:
    view = one(slot(decoded=20, n_prompt_tokens=23, n_prompt_tokens_processed=3, n_prompt_tokens_cache=0))
    assert (view.n_tokens, view.n_decoded, view.n_prompt_processed) == (23, 20, 3)


def test_c71_text_that_attacks_the_terminal() -> None:
    content = (
        '[{"id":0,"n_ctx":256,"speculative":false,"is_processing":true,"id_task":0,"n_prompt_tokens":38,'
        '"n_prompt_tokens_processed":38,"n_prompt_tokens_cache":0,"next_token":[{"has_next_token":true,'
        '"has_new_line":true,"n_remain":4,"n_decoded":4}],"prompt":"\\u65e5\\u672c\\u8a9e '
        "\\ud83d\\udc69\\u200d\\ud83d\\udc69\\u200d\\ud83d\\udc67 \\u202eRTL\\u202c \\u0007 e\\u0301 [bold red]x[/] "
        '\\u001b[2J\\u001b]0;t\\u0007","generated":"\\uff01\\n\\n*\\u534a\\ufffd"}]'
    )
    with FakeServer(healthy(from_json(content))) as server, watching(server) as backend:
        backend.wait_until(lambda s: s.slots is not None, 5)
        details = backend.details(0).result(5)
    assert details.prompt is not None
    assert "日本語" in details.prompt
    assert "e\u0301 [bold red]x[/]" in details.prompt
    assert not set(details.prompt) & set("\x1b\x07\u202e\u202c\u200d")
    assert details.generated == "！\n\n*半\ufffd"
    assert plain(details.prompt) == details.prompt


def test_c72_megabytes_per_poll() -> None:
    row = {"n_ctx": 300_000, "n_predict": -1, "state": 1, "next_token": {"n_decoded": 3, "n_remain": -1}}
    rows = [{"id": id_, "task_id": id_, "prompt": 'say \\"hi\\"\n' * 120_000, **row} for id_ in range(4)]
    with FakeServer(healthy(json_reply(rows))) as server, watching(server, interval=0.1) as backend:
        snapshot = backend.wait_until(lambda s: s.poll is not None and "large" in s.poll.note, 10)
        details = backend.details(2).result(10)
    assert snapshot.slots is not None
    assert [view.n_decoded for view in snapshot.slots] == [3, 3, 3, 3]
    assert details.prompt is not None
    assert len(details.prompt) == 20_000


def test_c74_null_where_a_number_was() -> None:
    view = one(slot(next_token=[{"n_decoded": None, "n_remain": None}], params={"temperature": None}))
    assert (view.n_decoded, view.n_remain, view.unlimited, view.state) == (None, None, False, SlotState.BUSY)
    details = read_details([slot(params={"temperature": None})], 0)
    assert details is not None
    assert details.params["temperature"] is None


def test_c76_html_with_status_200_on_every_path() -> None:
    with FakeServer({}, default=HTML) as server, watching(server) as backend:
        snapshot = backend.wait_until(lambda s: s.health.state is HealthState.FOREIGN, 2)
    assert snapshot.health.state is HealthState.FOREIGN
    assert "not a llama-server" in snapshot.health.message
    assert "web page" in snapshot.health.message


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("slots_off_501", ExitCode.SLOTS_OFF),
        ("slots_no_key_401", ExitCode.KEY),
        ("slots_loading_503", ExitCode.LOADING),
    ],
)
def test_c76_an_error_object_with_status_200_is_that_error(name: str, code: ExitCode) -> None:
    with FakeServer(healthy(Reply(recorded(name).body))) as server:
        assert snapshot_once(server.url)[1] is code


def test_c78_look_alike_server() -> None:
    first, second, third = shown(
        '[{"id":0,"model":"m","is_processing":true,"state":"prefill"},{"id":1,"model":"m","is_processing":false,'
        '"state":"idle"},{"id":2,"is_processing":false,"retained":true,"session_digest":"ab12","checkpoints":'
        '[{"frontier":4096,"session_digest":"ab12"}],"n_ctx":8192,"n_prompt_tokens":4096,"n_prompt_tokens_cache":0,'
        '"speculative":false}]'
    )
    assert (first.state, first.state_word, first.n_ctx) == (SlotState.BUSY, "prefill", None)
    assert (second.state, second.state_word) == (SlotState.IDLE, "idle")
    assert (third.state, third.n_tokens, third.n_ctx) == (SlotState.IDLE, 4096, 8192)


def test_c78_look_alike_with_a_role_is_no_router() -> None:
    props = json_reply({"role": "router", "total_slots": 3, "default_generation_settings": {"n_ctx": 8192}})
    with FakeServer(healthy(json_reply([slot()]), props=props)) as server:
        assert first_look(server).health.state is HealthState.OK


def test_c80_endpoints_simply_absent() -> None:
    with FakeServer(healthy(NOT_FOUND, metrics=NOT_FOUND, props=NOT_FOUND)) as server, watching(server) as backend:
        snapshot = backend.wait_until(lambda s: s.health.state is HealthState.NOTHING, 5)
    assert snapshot.health.state is HealthState.NOTHING
    assert snapshot.health.message == "reachable, but nothing to monitor: the server has no /slots, nor /metrics"
    assert snapshot.facts.endpoints["slots"].state is EndpointState.ABSENT
    assert snapshot.waiting.count is None


def test_c10_both_forms_of_the_refusal_of_a_long_prompt() -> None:
    old = b'{"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"invalid_request_error"}}'  # noqa: E501
    new = recorded("prompt_too_long_stream_400").body
    for refused in (old, new):
        assert "exceeds the available context size" in read_refusal(400, refused).message


def test_c10_the_slots_own_limit_is_the_truth() -> None:
    props = json_reply({**body("props"), "default_generation_settings": {"n_ctx": 57675}})
    with FakeServer(healthy(json_reply([slot(n_ctx=2048)]), props=props)) as server:
        snapshot = first_look(server)
    assert snapshot.facts.n_ctx_slot == 2048


def test_c113_sixty_four_and_256_slots() -> None:
    many = [{"id": id_, "n_ctx": 256, "speculative": False, "is_processing": False} for id_ in range(256)]
    assert len(shown(json.dumps(many))) == 256
    fresh = recorded("slots_64_fresh")
    with FakeServer(healthy(fresh)) as server:
        snapshot = first_look(server)
    assert snapshot.slots is not None
    assert [view.id for view in snapshot.slots] == list(range(64))
    assert all(view.state is SlotState.UNUSED for view in snapshot.slots)
