"""Words for panels: short, and never more than is known."""

from __future__ import annotations

import pytest

from slotview.engine.observe.meaning import (
    busy_meaning,
    pool_meaning,
    prefill_share,
    request_speed_meaning,
    slots_unknown,
    waiting_meaning,
)
from slotview.engine.snapshot import (
    EndpointView,
    Health,
    HealthState,
    KvPool,
    ServerFacts,
    Totals,
    WaitingRequest,
    WaitingView,
)

from .polls import look, prefilling


@pytest.mark.parametrize(
    ("busy", "n_slots", "average", "waiting", "words"),
    [
        (1, 4, 1.05, 3, "concurrency is not the bottleneck"),
        (4, 4, 3.9, 4, "more slots would help while memory lasts"),
        (4, 4, 1.05, 4, "more slots would help while memory lasts"),
        (3, 4, 3.9, 0, "near the slot count: if requests wait, more slots help"),
        (1, 1, 1.0, 2, "more slots would help"),
        (256, 256, 250.0, 9, "more than 256 slots there cannot be"),
        (240, 256, 250.0, 0, "16 slots free"),
        (0, 4, None, None, "all slots idle"),
        (0, 4, 0.0, 0, "all slots idle"),
        (4, 4, 2.0, 0, "all slots busy, the queue is empty"),
        (4, 4, 2.0, None, "all slots busy"),
        (2, 4, 2.0, 0, "2 slots free: a new request starts at once"),
        (2, 4, 3.9, 3, "2 slots free, yet requests wait"),
        (2, 2, 1.8, 0, "near the slot count: if requests wait, more slots help"),
        (1, 1, 1.0, 0, "all slots busy, the queue is empty"),
        (None, None, None, None, "does not show its slots"),
        (None, 4, None, 2, "does not show its slots"),
        (2, None, None, None, "does not show its slots"),
        (0, 0, None, None, "does not show its slots"),
    ],
)
def test_busy(busy: int | None, n_slots: int | None, average: float | None, waiting: int | None, words: str) -> None:
    line = busy_meaning(busy, n_slots, average, waiting)
    assert words in line
    assert len(line) <= 78


@pytest.mark.parametrize(
    ("state", "note", "words"),
    [
        (HealthState.OK, "", "the server does not show its slots"),
        (HealthState.ASLEEP, "", "not known: asleep"),
        (HealthState.NOTHING, "turned off", "turned off"),
        (HealthState.KEY, "invalid key", "not known: key needed"),
        (HealthState.ROUTER, "", "not known: no model chosen"),
    ],
)
def test_why_there_are_no_slots(state: HealthState, note: str, words: str) -> None:
    facts = ServerFacts(
        source="http://host:8080", endpoints={"slots": EndpointView(note=note), "props": EndpointView(note="other")}
    )
    assert slots_unknown(look(0.0, health=Health(state, "no model chosen"), facts=facts)) == words


def test_waiting_that_is_unknown_says_why() -> None:
    assert waiting_meaning(WaitingView(why="key needed"), 1, 4) == "key needed"


def test_waiting_beside_an_idle_slot() -> None:
    assert "pinned" in waiting_meaning(WaitingView(2), 1, 2)
    assert waiting_meaning(WaitingView(2), 2, 2) == "no endpoint says who"


def test_what_waits_for_which_slot() -> None:
    anyone, pinned = WaitingRequest(3), WaitingRequest(4, id_slot=1)
    assert waiting_meaning(WaitingView(1, (anyone,)), 2, 2) == "for the next free slot"
    assert waiting_meaning(WaitingView(2, (anyone, anyone)), 2, 2) == "each for the next free slot"
    assert waiting_meaning(WaitingView(1, (pinned,)), 2, 2) == "for its slot"
    assert waiting_meaning(WaitingView(2, (pinned, anyone)), 2, 2) == "each for a slot it may use"


def test_waiting_beside_an_idle_slot_of_a_static_batch() -> None:
    assert "until the batch has ended" in waiting_meaning(WaitingView(2), 1, 2, "static")
    assert waiting_meaning(WaitingView(0), 1, 2, "static") == "the queue is empty"


@pytest.mark.parametrize(
    ("pool", "words"),
    [
        (KvPool(candidates=(65536, 131072)), "pool size unknown (65 536 or 131 072)"),
        (KvPool(unified=True, cells=2048, active=2000, cached=0), "98 % active: when it is full"),
        (KvPool(unified=True, cells=2048, active=100, cached=48), "1 948 cells can still be used"),
        (KvPool(unified=False, cells=8192, active=8000, cached=0), "a full slot stops alone"),
        (KvPool(unified=True, cells=2048), "what they hold is not reported"),
        (KvPool(why="not told by an older server"), "not told by an older server"),
    ],
)
def test_pool(pool: KvPool, words: str) -> None:
    assert words in pool_meaning(pool)


def test_prefill_counts_what_was_cached() -> None:
    assert prefill_share(prefilling(0, 1, 100, n_prompt=400, n_prompt_cached=200)) == 0.75
    assert prefill_share(prefilling(0, 1, 5, n_prompt=10)) == 0.5


def test_speed_per_request_needs_both_counters() -> None:
    assert request_speed_meaning(Totals(predicted_tokens=5)) == ""
