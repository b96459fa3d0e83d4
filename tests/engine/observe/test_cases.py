"""Cases from the field that concern conclusions, each with its numbers."""

from __future__ import annotations

from typing import Any

import pytest

from slotview.engine.events import PoolFull, TaskEnded
from slotview.engine.observe.meaning import (
    pool_meaning,
    prefill_share,
    request_speed_meaning,
    waiting_meaning,
)
from slotview.engine.observe.observation import Finding, Observation
from slotview.engine.observe.observer import Observer
from slotview.engine.snapshot import (
    Health,
    HealthState,
    KvPool,
    PollView,
    ServerFacts,
    SlotState,
    SlotView,
    Snapshot,
    Totals,
    WaitingRequest,
    WaitingView,
)

from .polls import LIVE, POLL, from_slots, generating, idle, look, pool, prefilling, watch, watch_all


def found(seen: Observation, key: str) -> Finding:
    return next(finding for finding in seen.findings if finding.key == key)


def keys(seen: Observation) -> list[str]:
    return [finding.key for finding in seen.findings]


def four_in_512(n_decoded: int) -> list[SlotView]:
    return [
        generating(slot, slot, n_decoded, n_tokens=61 + n_decoded, n_remain=300 - n_decoded, n_ctx=512)
        for slot in range(4)
    ]


def test_c12_pool_error_at_low_visible_use() -> None:
    shared = ServerFacts(source="http://host:8080", unified=True)
    seen = watch_all(
        [
            (look(0.0, *four_in_512(10), facts=shared, pool=pool(284, 0, 512, unified=True)), []),
            (look(1.0, *four_in_512(45), facts=shared, pool=pool(424, 0, 512, unified=True)), []),
            (
                look(2.0, *[idle(slot, slot, n_tokens=0, n_ctx=512) for slot in range(4)], facts=shared),
                [PoolFull(1.9, 4), *[TaskEnded(1.9, slot, slot, "error", n_decoded=67) for slot in range(4)]],
            ),
        ]
    )
    assert "pool-overflow" not in keys(seen[1])
    overflow = found(seen[2], "pool-overflow")
    assert overflow.severity == "error"
    assert "4 requests ended" in overflow.text
    assert "424 tokens active" in overflow.evidence
    assert "21 %" in overflow.evidence  # 106 of 512: no slot looked full


def test_c12_seen_from_slots_alone() -> None:
    unknown = KvPool(active=440, cached=0, candidates=(512, 2048))
    looks = [look(0.0, *four_in_512(30), pool=unknown), look(1.0, *four_in_512(49), pool=unknown)]
    looks += [look(2.0, *[idle(slot, slot, n_tokens=0, n_ctx=512) for slot in range(4)])]
    assert "4 requests ended at once" in found(watch(looks), "pool-overflow").text


def test_c12_tasks_that_end_normally_are_no_pool_error() -> None:
    unknown = KvPool(active=440, cached=0, candidates=(512, 2048))
    looks = [look(0.0, *four_in_512(30), pool=unknown), look(1.0, *four_in_512(49), pool=unknown)]
    looks += [look(2.0, *[idle(slot, slot, n_tokens=127, n_ctx=512) for slot in range(4)])]
    assert "pool-overflow" not in keys(watch(looks))


@pytest.mark.parametrize(
    ("before", "after", "filled"),
    [
        (four_in_512(49), [idle(slot, slot, n_tokens=0, n_ctx=512) for slot in range(4)], KvPool(active=440, cached=0)),
        (
            four_in_512(49),
            [idle(slot, slot, n_tokens=0, n_ctx=512) for slot in range(4)],
            KvPool(unified=False, active=440, cached=0, cells=512),
        ),
        (
            four_in_512(49),
            [idle(slot, slot, n_tokens=0, n_ctx=512) for slot in range(4)],
            KvPool(active=150, cached=0, cells=512),
        ),
        (
            four_in_512(49)[:1],
            [idle(0, 0, n_tokens=0, n_ctx=512)],
            KvPool(active=440, cached=0, cells=512),
        ),
        (
            four_in_512(49),
            [*[idle(slot, slot, n_tokens=0, n_ctx=512) for slot in range(3)], four_in_512(55)[3]],
            KvPool(active=440, cached=0, cells=512),
        ),
    ],
    ids=["nobody knows its size", "split", "far from full", "a single request", "one goes on"],
)
def test_c12_what_vanishes_at_once_may_have_other_reasons(
    before: list[SlotView], after: list[SlotView], filled: KvPool
) -> None:
    looks = [look(float(t), *before, pool=filled) for t in range(2)]
    assert "pool-overflow" not in keys(watch([*looks, look(2.0, *after)]))


C13 = [
    generating(0, 1101, 65, n_tokens=565, n_remain=900),
    generating(1, 714, 85, n_tokens=1485, n_remain=900),
    idle(2),
    idle(3),
]


def test_c13_two_bars_at_28_and_73_percent_fill_a_pool() -> None:
    known = pool(2050, 0, 2048, unified=True, estimated=True)
    finding = found(watch([look(float(t), *C13, pool=known) for t in range(3)]), "pool-nearly-full")
    assert "2 050 active (100 %)" in finding.evidence
    assert finding.slots == (0, 1)
    with_rest = pool(1900, 100, 2048, unified=True)
    finding = found(watch([look(float(t), *C13, pool=with_rest) for t in range(3)]), "pool-nearly-full")
    assert finding.evidence == "1 900 active (93 %), 100 cached in idle slots, 48 free of 2 048"


@pytest.mark.parametrize(("active", "word"), [(2050, "it is full"), (1900, "it is nearly full")])
def test_c13_unknown_pool_is_only_a_perhaps(active: int, word: str) -> None:
    unknown = pool(active, 0, None, candidates=(2048, 8192), estimated=True)
    finding = found(watch([look(float(t), *C13, pool=unknown) for t in range(3)]), "pool-maybe-full")
    assert finding.text.startswith("if ")
    assert word in finding.text
    assert "28 %, 73 %" in finding.evidence
    assert "2 048 or 8 192" in finding.evidence


def test_c13_split_slots_are_harmless() -> None:
    split = pool(2050, 0, 8192, unified=False, estimated=True)
    assert keys(watch([look(float(t), *C13, pool=split) for t in range(3)])) == []


def test_c13_more_tokens_than_the_small_pool_holds_rule_it_out() -> None:
    unknown = pool(3000, 0, None, candidates=(2048, 8192), estimated=True)
    assert keys(watch([look(float(t), *C13, pool=unknown) for t in range(3)])) == []


def test_c15_what_idle_slots_keep_is_reclaimable() -> None:
    slots = [
        idle(0, 1, n_tokens=6000, n_ctx=8192),
        idle(1, 2, n_tokens=1500, n_ctx=8192),
        generating(2, 3, 10, n_tokens=500, n_ctx=8192),
    ]
    nearly = pool(500, 7500, 8192, unified=True)
    assert nearly.free == 192
    assert keys(watch([look(float(t), *slots, pool=nearly) for t in range(5)])) == []
    assert pool_meaning(nearly) == "7 500 cached in idle slots are dropped when room is needed"


def test_c20_no_pool_size_is_not_an_empty_pool() -> None:
    assert pool_meaning(KvPool()) == "pool size unknown: no endpoint reports it"
    assert watch([look(0.0, idle(0, 1))]).history[-1].pool_used is None


def test_c22_idle_slot_beside_two_waiting_requests() -> None:
    queue = WaitingView(2, (WaitingRequest(3, id_slot=0), WaitingRequest(4)))
    slots = [generating(0, 1, 50), idle(1, 2)]
    finding = found(watch([look(float(t), *slots, waiting=queue) for t in range(4)]), "idle-beside-waiting")
    assert "head of queue (task 3) pinned to busy slot 0" in finding.evidence
    assert "slot 1 idle, 2 waiting" in finding.evidence
    assert finding.slots == (1,)


def test_c22_without_the_queue_nothing_is_said_about_pins() -> None:
    slots = [generating(0, 1, 50), idle(1, 2)]
    finding = found(watch([look(float(t), *slots, waiting=2) for t in range(4)]), "idle-beside-waiting")
    assert "head of queue" not in finding.evidence


def test_c22_a_moment_is_no_finding() -> None:
    slots = [generating(0, 1, 50), idle(1, 2)]
    assert keys(watch([look(0.0, *slots, waiting=2), look(0.5, *slots, waiting=2)])) == []


def test_c29_a_waiting_erase_is_no_waiting_request() -> None:
    queue = WaitingView(1, (WaitingRequest(3, id_slot=0, kind="erase"),))
    slots = [generating(0, 1, 50), idle(1, 2)]
    assert keys(watch([look(float(t), *slots, waiting=queue) for t in range(5)])) == []
    assert "no request waits" in waiting_meaning(queue, 1, 2)


def test_c32_unknown_queue_is_not_an_empty_one() -> None:
    slots = [generating(slot, slot, 5) for slot in range(4)]
    seen = watch([look(float(t), *slots) for t in range(6)])
    assert seen.history[-1].waiting is None
    assert keys(seen) == []
    assert waiting_meaning(WaitingView(), 4, 4) == "unknown (server started without --metrics)"
    assert waiting_meaning(WaitingView(0), 4, 4) == "the queue is empty"


def test_c42_what_lies_in_ram_is_not_shown_as_zero() -> None:
    emptied = idle(0, 5, n_tokens=0)
    assert emptied.n_prompt_cached is None
    assert watch([look(0.0, emptied)]).findings == ()


def test_c45_prompt_larger_than_any_slot_names_two_ways() -> None:
    refused = "request (256 tokens) exceeds the available context size (256 tokens), try increasing it"
    split = ServerFacts(source="embedded", unified=False, n_ctx_train=8192)
    slots = [idle(0, 3, n_ctx=256), idle(1, 2, n_ctx=256)]
    seen = watch_all([(look(1.0, *slots, facts=split), [TaskEnded(0.9, 0, 3, "error", error=refused)])])
    finding = found(seen[-1], "prompt-too-large")
    assert "refused with 256 tokens, slots hold 256" in finding.evidence
    assert finding.advice == "press t for -c 1024, or send it to a server with larger slots"


@pytest.mark.parametrize(
    ("facts", "n_prompt", "advice"),
    [
        ({"unified": True}, 256, "restart with -c 512, or send it to a server with larger slots"),
        ({}, 256, "restart with slots of 512 tokens, or send it to a server with larger slots"),
        ({"n_ctx_train": 300}, 299, "restart with slots of 512 tokens, or send it to a server with larger slots"),
        ({"n_ctx_train": 300}, 300, "the model was trained on 300: send it to another server"),
    ],
)
def test_c45_the_way_depends_on_what_is_known_of_the_server(facts: dict[str, Any], n_prompt: int, advice: str) -> None:
    refused = f"request ({n_prompt} tokens) exceeds the available context size (256 tokens), try increasing it"
    slots = [idle(0, 3, n_ctx=256), idle(1, 2, n_ctx=256)]
    told = ServerFacts(source="http://host:8080", **facts)
    seen = watch_all([(look(1.0, *slots, facts=told), [TaskEnded(0.9, 0, 3, "error", error=refused)])])
    assert found(seen[-1], "prompt-too-large").advice == advice


def test_c10_the_old_error_without_numbers_is_known_too() -> None:
    old = "the request exceeds the available context size. try increasing the context size or enable context shift"
    seen = watch_all([(look(1.0, idle(0, 3)), [TaskEnded(0.9, 0, 3, "error", error=old)])])
    finding = found(seen[-1], "prompt-too-large")
    assert "slots hold 2 048" in finding.evidence
    assert finding.advice == "restart with a larger -c or fewer slots, or send it to a server with larger slots"


def test_c46_endless_generation_is_a_saw_tooth_without_a_limit() -> None:
    held = [300, 480, 505, 255, 400, 500, 260]
    decoded = [100, 280, 305, 310, 455, 555, 570]
    slots = [
        generating(0, 7, n, n_tokens=tokens, n_ctx=512, unlimited=True) for tokens, n in zip(held, decoded, strict=True)
    ]
    seen = watch(look(float(t), slot) for t, slot in enumerate(slots))
    assert "shifted at least 2 times" in found(seen, "context-shift").evidence


def test_c46_more_decoded_than_the_context_holds_is_said() -> None:
    seen = watch(look(float(t), generating(0, 7, 600 + t, n_ctx=512, unlimited=True)) for t in range(4))
    assert found(seen, "unlimited").evidence == "603 decoded, no limit, watched for 3 s"


C51 = {
    "id": 0,
    "n_ctx": 65536,
    "is_processing": True,
    "id_task": 9440,
    "n_prompt_tokens": 11128,
    "n_prompt_tokens_processed": 167,
    "n_prompt_tokens_cache": 0,
    "next_token": [{"has_next_token": True, "has_new_line": False, "n_remain": -1, "n_decoded": 0}],
}


def test_c51_same_body_for_ten_minutes_is_no_progress() -> None:
    seen = watch(look(float(t), *from_slots([C51])) for t in range(601))
    assert seen.rates[0].stalled_for == pytest.approx(600.0)
    finding = found(seen, "no-progress")
    assert finding.text == "no progress for 10 m (task 9440) in slot 0"
    assert "167 prompt tokens done" in finding.evidence


def test_c51_not_before_a_threshold() -> None:
    seen = watch(look(float(t), *from_slots([C51])) for t in range(31))
    assert seen.rates[0].stalled_for is None
    assert keys(seen) == []


def test_c51_answers_far_apart_count_in_full_where_they_are_expected_so() -> None:
    seen = watch(look(75.0 * t, *from_slots([C51]), poll=PollView(interval=30.0)) for t in range(5))
    assert seen.rates[0].stalled_for == pytest.approx(300.0)


def test_c51_silence_is_no_stall() -> None:
    observer = Observer()
    observer.observe(look(0.0, *from_slots([C51])))
    gone = Health(HealthState.NO_ANSWER)
    for t in range(1, 600):
        seen = observer.observe(look(float(t), *from_slots([C51]), seen_at=0.0, health=gone))
    assert seen.rates[0].stalled_for is None
    seen = observer.observe(look(600.0, *from_slots([C51])))
    assert seen.rates[0].stalled_for is None
    assert keys(seen) == []


def test_c51_a_slot_that_waits_for_its_turn_is_not_stuck() -> None:
    looks = [
        look(float(t), prefilling(0, 1, 512 * t, n_tokens=512 * t + 1), prefilling(1, 2, 0, n_tokens=0))
        for t in range(200)
    ]
    seen = watch(looks)
    assert seen.rates[1].stalled_for is None
    assert keys(seen) == []


def test_c51_large_batches_on_a_slow_machine_are_not_stuck() -> None:
    observer = Observer()
    for t in range(600):
        batch = t // 150  # seconds for 2048 tokens
        slots = prefilling(0, 1, 2048 * batch, n_tokens=2048 * (batch + 1)), generating(1, 2, 5 + batch)
        seen = observer.observe(look(float(t), *slots))
        assert [seen.rates[slot].stalled_for for slot in (0, 1)] == [None, None]


def test_c51_a_generation_that_stands_still_is_told_sooner() -> None:
    seen = watch(look(float(t), generating(0, 1, 5), generating(1, 2, 5 + t)) for t in range(62))
    assert seen.rates[0].stalled_for == pytest.approx(61.0)
    assert found(seen, "no-progress").slots == (0,)


def test_c51_of_several_that_stand_still_the_longest_is_told() -> None:
    seen = watch(look(float(t), generating(0, 1, 5 + min(t, 20)), generating(1, 2, 5), idle(2)) for t in range(90))
    finding = found(seen, "no-progress")
    assert finding.text == "no progress for 89 s (task 2) in slot 1, and in 1 more slot"
    assert finding.slots == (0, 1)


def test_c51_a_long_prompt_whose_progress_nobody_tells_is_not_stuck() -> None:
    """Before May 2026 nothing in a slot moved before the first token of its answer."""
    silent = SlotView(0, SlotState.PROMPT, n_ctx=32768, task=4, n_decoded=0)
    seen = watch(look(float(t), silent, idle(1)) for t in range(600))
    assert seen.rates[0].stalled_for is None
    assert keys(seen) == []


def test_c78_a_slot_that_is_always_busy_without_a_task_is_not_stuck() -> None:
    busy = SlotView(0, SlotState.BUSY, n_ctx=8192, n_tokens=4096)
    seen = watch(look(float(t), busy, idle(1)) for t in range(600))
    assert seen.rates[0].stalled_for is None
    assert keys(seen) == []


def test_c52_long_work_with_standing_counters_is_not_stuck() -> None:
    standing = Totals(predicted_tokens=12, processing=1)
    observer = Observer()
    for t in range(1200):
        seen = observer.observe(look(float(t), generating(0, 3, 1 + t), totals=standing))
        assert "no-progress" not in keys(seen)
    assert seen.rates[0].stalled_for is None


def test_c52_no_verdict_from_metrics_alone() -> None:
    standing = Totals(predicted_tokens=12, processing=1)
    observer = Observer()
    for t in range(1200):
        bare = Snapshot(time=float(t), serial=t, health=LIVE, poll=POLL, totals=standing)
        seen = observer.observe(bare)
    assert seen.rates == {}
    assert seen.findings == ()
    assert seen.generation_rate is None


@pytest.mark.parametrize(
    "left_over",
    [
        SlotView(0, SlotState.IDLE, n_ctx=4096, task=5, n_decoded=40, n_remain=88),
        SlotView(0, SlotState.IDLE, n_ctx=1024, task=13, n_tokens=2, n_decoded=0, n_remain=-1),
    ],
)
def test_c58_idle_slot_has_no_speed(left_over: SlotView) -> None:
    seen = watch(look(float(t), left_over) for t in range(4))
    assert seen.rates[0].generation is None
    assert seen.generation_rate == 0.0


def test_c69_prefill_without_a_total_has_no_percentage() -> None:
    steps = [(0.0, 2560), (1.0, 5120), (25.25, 51200)]
    seen = watch(look(t, prefilling(0, 4, n, n_tokens=n)) for t, n in steps)
    assert seen.rates[0].prompt == pytest.approx(1900.2, abs=0.1)
    last = prefilling(0, 4, 51200, n_tokens=51200)
    assert prefill_share(last) is None


def test_c69_with_a_known_total_there_is_one() -> None:
    assert prefill_share(prefilling(0, 4, 3072, n_prompt=34228)) == pytest.approx(3072 / 34228)


def test_c74_null_is_skipped() -> None:
    counts = [10, None, 30, 40]
    seen = watch(look(float(t), generating(0, 1, n)) for t, n in enumerate(counts))
    assert seen.rates[0].generation == pytest.approx(10.0)
    assert seen.generation_rate == pytest.approx(10.0)


def test_c74_a_missing_task_id_does_not_make_a_new_task() -> None:
    slots = [generating(0, 7, 900), generating(0, 0, 910), generating(0, 7, 920)]
    slots[1] = SlotView(0, SlotState.GENERATING, task=None, n_decoded=910)
    seen = watch(look(float(t), slot) for t, slot in enumerate(slots))
    assert seen.generation_rate == pytest.approx(10.0)
    assert seen.ended == ()


def test_c83_and_c84_counters_that_jump_make_no_rate() -> None:
    jumps = [0, 0, 0, 0, 0, 0, 0, 1837]
    observer = Observer()
    for i, total in enumerate(jumps):
        bare = Snapshot(time=10.0 * i, serial=i, health=LIVE, totals=Totals(predicted_tokens=total))
        assert observer.observe(bare).generation_rate is None


def test_c84_the_slots_tell_the_true_speed() -> None:
    looks = [
        look(float(t), generating(0, 1, 1 + round(24.5 * t)), totals=Totals(predicted_tokens=0)) for t in range(75)
    ]
    looks.append(look(75.0, idle(0, 1), totals=Totals(predicted_tokens=1837)))
    rates = [rate for point in watch(looks).history if (rate := point.generation_rate) is not None]
    assert max(rates) < 26


def test_c85_summed_seconds_are_per_request() -> None:
    totals = Totals(predicted_tokens=1600, predicted_seconds=92.4)
    assert request_speed_meaning(totals) == "17.3 tok/s per request since it started"
    looks = [look(t * 1.0, *[generating(s, s, 1 + round(400 * t / 23)) for s in range(4)]) for t in range(20)]
    assert watch(looks).generation_rate == pytest.approx(4 * 400 / 23, rel=0.02)


def test_c87_restart_makes_no_impossible_rate() -> None:
    looks = [
        look(0.0, generating(0, 912, 880), totals=Totals(predicted_tokens=50_000)),
        look(1.0, generating(0, 912, 900), totals=Totals(predicted_tokens=50_000)),
        look(2.0, generating(0, 3, 5), totals=Totals(predicted_tokens=12)),
        look(3.0, generating(0, 3, 25), totals=Totals(predicted_tokens=12)),
    ]
    observer = Observer()
    seen = [observer.observe(snapshot) for snapshot in looks]
    assert seen[2].restarts == 1
    assert seen[2].rates[0].generation is None
    assert seen[2].generation_rate is None
    assert [point.break_before for point in seen[3].history] == [False, False, True, False]
    assert seen[3].rates[0].generation == pytest.approx(20.0)


def test_c87_ids_alone_tell_a_restart() -> None:
    assert watch([look(0.0, generating(0, 912, 900)), look(1.0, generating(0, 3, 5))]).restarts == 1


def test_c116_a_new_task_starts_afresh() -> None:
    observer = Observer()
    observer.observe(look(0.0, generating(0, 7, 900)))
    seen = observer.observe(look(1.0, generating(0, 9, 3)))
    assert seen.rates[0].generation is None
    assert seen.generation_rate == pytest.approx(3.0)
    assert seen.restarts == 0
    assert [(gone.task, gone.n_decoded, gone.reason) for gone in seen.ended] == [(7, 900, "unseen")]
    seen = observer.observe(look(2.0, generating(0, 9, 23)))
    assert seen.rates[0].generation == pytest.approx(20.0)
