"""Cases from the field: the pool's size, what is in it, and what no endpoint tells."""

from __future__ import annotations

import pytest

from slotview.engine.observe.meaning import slots_unknown
from slotview.engine.remote.once import look_once
from slotview.engine.snapshot import SlotState
from tests.engine.remote.recorded import first_look, from_json, healthy, metrics, recorded, slot
from tests.fake_server import FakeServer, Reply, error_reply, json_reply


def test_c06_context_of_props_is_one_slots() -> None:
    props = from_json(
        '{"default_generation_settings":{"params":{},"n_ctx":65536},"total_slots":2,"model_path":"model.gguf"}'
    )
    fresh = [{"id": id_, "n_ctx": 65536, "speculative": False, "is_processing": False} for id_ in range(2)]
    with FakeServer(healthy(json_reply(fresh), props=props)) as server:
        snapshot = first_look(server)
    assert (snapshot.facts.n_ctx_slot, snapshot.facts.n_slots, snapshot.facts.n_ctx) == (65536, 2, None)
    assert snapshot.pool.cells is None
    assert snapshot.pool.unified is None
    assert snapshot.pool.candidates == (65536, 131072)
    assert snapshot.pool.why == "65 536 if unified, 131 072 if split: no endpoint says which"


@pytest.mark.parametrize(("n_ctx", "more"), [(8192, True), (1000, True), (4096, False)])
def test_c07_a_slot_whose_limit_is_the_models_or_its_own_may_share_a_larger_pool(n_ctx: int, more: bool) -> None:
    """As with -c 65536 for a model of 8192, or with --kv-unified-per-slot 1000."""
    models = json_reply({"data": [{"id": "m", "meta": {"n_ctx_train": 8192}}]})
    routes = healthy(json_reply([slot(id_, n_ctx=n_ctx) for id_ in range(2)])) | {"/v1/models": models}
    with FakeServer(routes) as server:
        snapshot, _ = look_once(server.url)
    assert snapshot.pool.candidates == (n_ctx, 2 * n_ctx)
    assert (", or more: no endpoint says which" in (snapshot.pool.why or "")) is more


def test_c06_one_slot_leaves_no_doubt_about_the_pool() -> None:
    with FakeServer(healthy(json_reply([slot(n_ctx=4096)]))) as server:
        assert first_look(server).pool.cells == 4096


def test_c07_slots_below_their_limit_in_one_pool() -> None:
    rows = [slot(id_, task=id_, decoded=680, n_ctx=1024) for id_ in range(4)]
    with FakeServer(healthy(json_reply(rows))) as server:
        snapshot = first_look(server)
    assert snapshot.facts.n_ctx_slot == 1024
    assert snapshot.pool.active == 2800
    assert snapshot.pool.candidates == (1024, 4096)
    assert snapshot.pool.cells is None


def test_c13_sum_over_the_limit_of_one() -> None:
    rows = [
        slot(0, task=1101, decoded=65, n_ctx=2048, n_prompt_tokens=565),
        slot(1, task=714, decoded=85, n_ctx=2048, n_prompt_tokens=1485),
        {"id": 2, "n_ctx": 2048, "speculative": False, "is_processing": False},
        {"id": 3, "n_ctx": 2048, "speculative": False, "is_processing": False},
    ]
    with FakeServer(healthy(json_reply(rows))) as server:
        pool = first_look(server).pool
    assert (pool.active, pool.cached, pool.estimated) == (2050, 0, True)
    assert pool.active is not None
    assert pool.active > pool.candidates[0]
    assert pool.active < pool.candidates[1]


def test_a_slot_without_its_tokens_costs_one_of_the_sums_only() -> None:
    rows = [
        slot(0, task=9, decoded=1, n_ctx=2048, n_prompt_tokens="many"),
        slot(1, busy=False, n_ctx=2048, n_prompt_tokens=1500),
    ]
    with FakeServer(healthy(json_reply(rows))) as server:
        pool = first_look(server).pool
    assert (pool.active, pool.cached, pool.used) == (None, 1500, None)
    assert pool.why == "2 048 if unified, 4 096 if split: no endpoint says which"


@pytest.mark.parametrize("metrics", [True, False])
def test_a_slot_that_does_not_say_whether_it_is_busy_is_called_neither(metrics: bool) -> None:
    rows = [slot(0, task=9, decoded=1, n_prompt_tokens=10), slot(1, task=4, n_prompt_tokens=20)]
    rows[1]["is_processing"] = []
    routes = dict(healthy(json_reply(rows)))
    if not metrics:
        routes["/metrics"] = error_reply(501, "This server does not support metrics endpoint.")
    with FakeServer(routes) as server:
        seen = first_look(server)
    assert [one.state for one in seen.slots or ()] == [SlotState.GENERATING, SlotState.UNKNOWN]
    assert seen.busy == (seen.totals.processing if metrics else None)
    assert (seen.pool.active, seen.pool.cached) == (None, None)
    assert "whether 1 slot is busy is not reported" in slots_unknown(seen)


def test_c15_active_and_idle_cached_tokens_are_apart() -> None:
    rows = [
        slot(0, busy=False, n_ctx=8192, n_prompt_tokens=6000),
        slot(1, busy=False, n_ctx=8192, n_prompt_tokens=1500),
        slot(2, task=9, decoded=1, n_ctx=8192, n_prompt_tokens=500),
    ]
    with FakeServer(healthy(json_reply(rows))) as server:
        pool = first_look(server).pool
    assert (pool.active, pool.cached, pool.used) == (500, 7500, 8000)


def test_c12_after_a_full_pool_all_slots_are_empty() -> None:
    with FakeServer(healthy(recorded("slots_after_pool_full"))) as server:
        snapshot = first_look(server)
    assert snapshot.busy == 0
    assert (snapshot.pool.active, snapshot.pool.cached) == (0, 0)


def test_c20_sum_of_the_slots_where_no_metric_tells() -> None:
    with FakeServer(healthy(recorded("slots_generating"))) as server:
        snapshot = first_look(server)
    assert snapshot.totals.kv_ratio is None
    assert snapshot.pool.estimated
    assert snapshot.pool.used is not None
    assert snapshot.pool.used > 0


OLD_SLOT = {"id": 0, "n_ctx": 2048, "state": 1, "task_id": 4, "next_token": {"n_decoded": 3, "n_remain": -1}}


@pytest.mark.parametrize(
    ("told", "ratio", "why"),
    [
        (
            metrics(kv_cache_usage_ratio=0.25, requests_deferred=0),
            0.25,
            "the server reports 25% of its 4 096 cells used",
        ),
        (metrics(requests_deferred=0), None, "this server does not report the tokens of its slots"),
    ],
)
def test_c20_old_servers_and_forks(told: Reply, ratio: float | None, why: str) -> None:
    with FakeServer(healthy(json_reply([OLD_SLOT, OLD_SLOT | {"id": 1}]), metrics=told)) as server:
        snapshot = first_look(server)
    assert snapshot.totals.kv_ratio == ratio
    assert snapshot.pool.used is None
    assert snapshot.pool.why == why


def test_c16_emptied_idle_slots_are_shown_as_they_are() -> None:
    with FakeServer(healthy(recorded("slots_unified_after_two"))) as server:
        snapshot = first_look(server)
    assert snapshot.slots is not None
    states = [view.state for view in snapshot.slots]
    assert states == [SlotState.UNUSED, SlotState.UNUSED, SlotState.IDLE, SlotState.IDLE]
    assert snapshot.pool.cached == sum(view.n_tokens or 0 for view in snapshot.slots)


def test_c42_no_number_is_invented_for_the_ram_cache() -> None:
    with FakeServer(healthy(json_reply([slot(busy=False, n_prompt_tokens=0)]))) as server:
        snapshot = first_look(server)
    assert snapshot.slots is not None
    assert (snapshot.slots[0].state, snapshot.slots[0].n_tokens) == (SlotState.IDLE, 0)
    assert snapshot.totals.prompt_tokens_cached == 0  # the server's own counter
    assert snapshot.slots[0].n_prompt_cached is None  # nothing is claimed about an idle slot's reuse


def test_c46_generation_without_end() -> None:
    row = slot(decoded=900, n_ctx=512, n_prompt_tokens=400, params={"n_predict": -1})
    with FakeServer(healthy(json_reply([row]))) as server:
        snapshot = first_look(server)
    assert snapshot.slots is not None
    view = snapshot.slots[0]
    assert (view.n_tokens, view.n_decoded, view.n_remain, view.unlimited) == (400, 900, None, True)
