"""Each finding with what it stands on, and that findings do not flicker."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from slotview.engine.events import ContextShifted, Event, RequestRefused, SlotChosen, TaskEnded, TaskStarted
from slotview.engine.observe.findings.memory import Memory
from slotview.engine.observe.findings.scene import Rule, Scene
from slotview.engine.observe.findings.table import RULES, FindingKeeper
from slotview.engine.observe.observation import Finding, Observation
from slotview.engine.observe.observer import Observer
from slotview.engine.snapshot import (
    Health,
    HealthState,
    ServerFacts,
    SlotView,
    Snapshot,
    Totals,
    WaitingRequest,
    WaitingView,
)

from .polls import LIVE, generating, idle, look, pool, prefilling, watch, watch_all


def found(seen: Observation, key: str) -> Finding:
    return next(finding for finding in seen.findings if finding.key == key)


def keys(seen: Observation) -> list[str]:
    return [finding.key for finding in seen.findings]


def test_all_busy_and_waiting() -> None:
    slots = [generating(slot, slot, 5) for slot in range(4)]
    finding = found(watch(look(float(t), *slots, waiting=4) for t in range(6)), "all-busy")
    assert finding.text == "4 requests wait for one of 4 slots"
    assert finding.severity == "information"


def test_one_request_waits_in_the_singular() -> None:
    finding = found(watch(look(float(t), generating(0, 0, 5), waiting=1) for t in range(6)), "all-busy")
    assert finding.text == "1 request waits for the only slot"


def test_no_more_slots_are_advised_than_there_can_be() -> None:
    slots = [generating(number, number, 5) for number in range(256)]
    finding = found(watch(look(float(t), *slots, waiting=4) for t in range(6)), "all-busy")
    assert finding.advice.startswith("more than 256 slots there cannot be")


def test_waiting_beside_an_average_near_one() -> None:
    slots = [generating(0, 1, 5), *[idle(slot, 9) for slot in range(1, 4)]]
    totals = Totals(busy_per_decode=1.05)
    finding = found(watch(look(float(t), *slots, waiting=2, totals=totals) for t in range(12)), "serial-work")
    assert finding.evidence == "average busy 1.05 of 4 slots, 2 waiting"


def test_more_slots_would_help_and_would_not_help_are_never_said_together() -> None:
    """One slot works for long, then all do: each finding is right in its time, and none outlives the other."""
    totals = Totals(busy_per_decode=1.05)
    alone = [look(float(t), generating(0, 1, t), idle(1, 9), waiting=2, totals=totals) for t in range(20)]
    both = [look(float(t), *(generating(n, n, t) for n in (0, 1)), waiting=2, totals=totals) for t in range(20, 40)]
    seen = watch_all((one, ()) for one in (*alone, *both))
    told = [set(keys(one)) for one in seen]
    contrary = {"idle-beside-waiting", "pins-leave-idle", "serial-work"}
    assert not [one for one in told if "all-busy" in one and one & contrary]
    assert told[19] == {"idle-beside-waiting", "serial-work"}
    assert told[-1] == {"all-busy"}


def test_an_old_average_says_nothing_about_four_busy_slots() -> None:
    slots = [generating(slot, slot, 5) for slot in range(4)]
    totals = Totals(busy_per_decode=1.05)
    seen = watch(look(float(t), *slots, waiting=2, totals=totals) for t in range(12))
    assert keys(seen) == ["all-busy"]


@pytest.mark.parametrize(("busy", "expected"), [(3, ["all-busy"]), (2, []), (None, [])])
def test_the_counters_tell_of_a_queue_where_the_slots_are_not_shown(busy: int | None, expected: list[str]) -> None:
    facts = ServerFacts(source="http://host:8080", n_slots=3)
    looks = [replace(look(float(t), facts=facts, waiting=2), slots=None) for t in range(6)]
    seen = watch(replace(one, totals=Totals(processing=busy)) for one in looks)
    assert keys(seen) == expected
    if expected:
        assert seen.findings[0].evidence == "3 of 3 slots busy, 2 waiting"


def test_pins_that_leave_others_idle() -> None:
    queue = WaitingView(2, (WaitingRequest(3, id_slot=0), WaitingRequest(4, id_slot=4)))
    slots = [generating(0, 1, 50), idle(1, 2), idle(2, 2), idle(3, 2)]
    seen = watch(look(float(t), *slots, waiting=queue) for t in range(4))
    finding = found(seen, "pins-leave-idle")
    assert finding.text == "pins hold 2 requests at slot 0 while slots 1, 2, 3 are idle"
    assert "idle-beside-waiting" not in keys(seen)
    queue = WaitingView(2, (WaitingRequest(3), WaitingRequest(4, id_slot=4)))
    seen = watch(look(float(t), *slots, waiting=queue) for t in range(4))
    (finding,) = seen.findings
    assert finding.key == "idle-beside-waiting"
    assert finding.evidence == "slots 1, 2, 3 idle, 2 waiting; task 4 pinned to busy slot 0"


def test_a_slot_never_used() -> None:
    observer = Observer()
    facts = ServerFacts(source="http://host:8080", unified=False, n_ctx=8192)
    for t in range(60):
        busy = [generating(slot, 10 * t + slot, 3) for slot in range(1, 4)]
        seen = observer.observe(look(float(t), idle(0), *busy, facts=facts))
    finding = found(seen, "never-used")
    assert (finding.text, finding.slots) == ("slot 0 never had a task", (0,))
    assert finding.evidence.endswith(" tasks seen, 3 slots did all the work")
    assert finding.advice == "-np 3 would do: 2 816 tokens each"


def test_a_fresh_server_has_unused_slots_and_no_finding() -> None:
    assert keys(watch(look(float(t), idle(0), generating(1, 1, 5 + t)) for t in range(20))) == []


def test_unlimited_generation_running_long() -> None:
    looks = [look(float(t), generating(0, 7, 10 * t + 1, n_ctx=65536, unlimited=True)) for t in range(303)]
    assert found(watch([look(-1.0, idle(0, 6)), *looks]), "unlimited").evidence.endswith("running for 5 m 2 s")
    assert found(watch(looks), "unlimited").evidence == "3 021 decoded, no limit, watched for 5 m 2 s"


def test_a_task_that_began_long_before_it_was_seen_is_not_said_to_have_run_for_a_time() -> None:
    """While idle, looks are a minute apart."""
    looks = [look(float(t), generating(0, 7, 10 * t + 900, n_ctx=65536, unlimited=True)) for t in range(303)]
    assert "watched for" in found(watch([look(-60.0, idle(0, 6)), *looks]), "unlimited").evidence


def test_what_stands_still_is_not_said_to_generate() -> None:
    stuck = generating(0, 7, 2000, n_ctx=65536, unlimited=True)
    seen = watch(look(float(t), stuck) for t in range(400))
    assert keys(seen) == ["no-progress"]


def test_a_limit_makes_a_long_generation_harmless() -> None:
    seen = watch(look(float(t), generating(0, 7, 10 * t + 1, n_ctx=65536, n_remain=9000)) for t in range(303))
    assert keys(seen) == []


def test_prompts_cancelled_after_the_same_time_again_and_again() -> None:
    events: list[Event] = []
    for n in range(3):
        events.append(TaskStarted(100.0 * n, 0, n, 0.0, 9000))
        events.append(TaskEnded(100.0 * n + 60.0 + 0.1 * n, 0, n, "cancel", n_decoded=0))
    finding = found(watch_all([(look(270.0, idle(0, 2)), events)])[-1], "cut-off")
    assert finding.text == "prompts are cut off again and again after about 60 s"
    assert "tasks 0, 1, 2" in finding.evidence


@pytest.mark.parametrize("lengths", [(60.0, 20.0, 60.0), (1.0, 1.0, 1.0)])
def test_cancels_after_different_or_short_times_are_a_persons(lengths: tuple[float, ...]) -> None:
    events: list[Event] = []
    for n, length in enumerate(lengths):
        events.append(TaskStarted(100.0 * n, 0, n, 0.0, 9000))
        events.append(TaskEnded(100.0 * n + length, 0, n, "cancel", n_decoded=0))
    assert keys(watch_all([(look(270.0, idle(0, 2)), events)])[-1]) == []


def test_prompts_that_vanish_after_the_same_time_while_the_cache_grows() -> None:
    looks = [look(0.0, idle(0, 1))]
    for n in range(3):
        held = 4000 * (n + 1)
        looks += [
            look(100.0 * n + t, prefilling(0, 10 + n, 40 * t, n_tokens=held - 4000 + 40 * t)) for t in range(1, 61)
        ]
        looks += [look(100.0 * n + t, idle(0, 10 + n, n_tokens=held)) for t in range(61, 100)]
    assert found(watch(looks), "cut-off").text == "prompts are cut off again and again after about 60 s"


@pytest.mark.parametrize("tells_tokens", [True, False])
def test_equal_prompts_with_short_answers_are_not_cut_off(tells_tokens: bool) -> None:
    looks = [look(0.0, idle(0, 1))]
    for n in range(4):
        held = [40 * t if tells_tokens else None for t in range(61)]
        looks += [look(100.0 * n + t, prefilling(0, 10 + n, 40 * t, n_tokens=held[t])) for t in range(1, 61)]
        looks += [look(100.0 * n + t, idle(0, 10 + n, n_tokens=held[-1])) for t in range(61, 100)]
    assert keys(watch(looks)) == []


@pytest.mark.parametrize(("apart", "n_found"), [(0, 0), (100, 1)])
def test_prompts_that_end_at_the_same_moment_are_not_cut_off_again_and_again(apart: int, n_found: int) -> None:
    def slots(t: int) -> list[SlotView]:
        run = [t - 1 - apart * n for n in range(3)]
        reads = [prefilling(n, 10 + n, 250 * run[n], n_tokens=250 * run[n] + 1500 * n) for n in range(3)]
        return [reads[n] if 0 <= run[n] < 20 else idle(n, 10 + n if run[n] >= 20 else n) for n in range(3)]

    assert len(keys(watch(look(float(t), *slots(t)) for t in range(230)))) == n_found


def test_prompts_that_ended_while_nobody_looked_are_not_cut_off() -> None:
    looks = [look(0.0, idle(0, 1))]
    for n in range(3):
        looks += [look(100.0 * n + t, prefilling(0, 10 + n, 50 * t, n_tokens=50 * t + 900 * n)) for t in range(1, 6)]
        looks += [look(100.0 * n + t, idle(0, 10 + n)) for t in range(20, 101)]
    assert keys(watch(looks)) == []


def test_similar_prompts_with_short_answers_are_not_cut_off() -> None:
    """As of a classifier: whoever reads 250 tokens a second takes about as long for 2 600 tokens as for 2 950."""
    looks = [look(0.0, idle(0, 1))]
    for n, size in enumerate((2600, 2950, 2750)):
        reads = range(1, size // 250 + 1)
        looks += [look(100.0 * n + t, prefilling(0, 10 + n, 250 * t, n_tokens=250 * t)) for t in reads]
        looks += [look(100.0 * n + t, idle(0, 10 + n, n_tokens=size)) for t in range(reads.stop, 100)]
    assert keys(watch(looks)) == []


def test_a_pool_that_once_held_more_is_not_the_small_one() -> None:
    held = [600, 650, 1400, 660, 660]  # in each of three slots, of 2048 tokens that all may share
    looks = (
        look(10.0 * at, *(generating(n, n, at) for n in range(3)), pool=pool(3 * each, candidates=(2048, 6144)))
        for at, each in enumerate(held)
    )
    told = ["pool-maybe-full" in keys(seen) for seen in watch_all((one, ()) for one in looks)]
    assert told == [False, True, False, False, False]


def test_a_count_of_waiting_requests_that_is_older_than_the_slots_is_no_evidence() -> None:
    slots = [generating(0, 1, 5), idle(1, 2)]
    old = WaitingView(3, why="20 s older than the slots")
    assert "idle-beside-waiting" in keys(watch(look(float(t), *slots, waiting=3) for t in range(6)))
    assert keys(watch(look(float(t), *slots, waiting=old) for t in range(6))) == []


@pytest.mark.parametrize(
    ("error", "found_words"),
    [
        ("request (5000 tokens) exceeds the available context size (2048 tokens)", "with 5 000 tokens, slots hold"),
        ("the request exceeds the available context size. try increasing it", "request 4 was refused, slots hold"),
        ("request (500 tokens) exceeds the available context size (256 tokens)", None),
        ("model is not loaded", None),
    ],
)
def test_a_prompt_fired_from_here_that_no_slot_holds(error: str, found_words: str | None) -> None:
    observer = Observer()
    observer.observe(look(0.0, idle(0, 1)))
    seen = observer.observe(look(1.0, idle(0, 1)), [RequestRefused(0.9, 4, error)])
    told = [finding for finding in seen.findings if finding.key == "prompt-too-large"]
    assert bool(told) is (found_words is not None)
    if found_words is not None:
        assert found_words in told[0].evidence
        assert "another" in told[0].advice or "a server with larger slots" in told[0].advice
    assert keys(observer.observe(look(400.0, idle(0, 1)))) == []


def test_a_waiting_prompt_larger_than_any_slot() -> None:
    queue = WaitingView(1, (WaitingRequest(5, n_prompt=9000),))
    facts = ServerFacts(source="embedded", unified=True, n_ctx_train=8192)
    seen = watch([look(0.0, generating(0, 1, 5, n_ctx=4096), facts=facts, waiting=queue)])
    finding = found(seen, "prompt-too-large")
    assert "task 5 waits with 9 000 tokens" in finding.evidence
    assert finding.advice == "the model was trained on 8 192: send it to another server"


def test_a_slot_matched_but_nothing_reused() -> None:
    observer = Observer()
    for n in range(2):
        events = [SlotChosen(float(n), 1, n, "lcp", similarity=0.82), TaskStarted(float(n), 1, n, 0.0, 100)]
        busy = generating(1, n, 3, n_prompt_processed=100, n_prompt_cached=0)
        seen = observer.observe(look(float(n), idle(0, 0), busy), events)
    assert found(seen, "not-reused").evidence == "task 1 on slot 1: similarity 0.82, 0 cached; 2 times"


def test_a_request_that_goes_on_after_a_retune_keeps_its_first_count_and_is_no_finding() -> None:
    observer = Observer()
    for n in range(4):
        events: list[Event] = [SlotChosen(0.0, 1, n, "lru"), TaskStarted(0.0, 1, n, 0.0, 100)]
        observer.observe(look(2.0 * n, generating(1, n, 3, n_prompt_processed=100, n_prompt_cached=0)), events)
        events = [SlotChosen(1.0, 0, n, "lcp", similarity=1.0), TaskStarted(1.0, 0, n, 0.0, 103)]
        again = generating(0, n, 4, n_prompt_processed=100, n_prompt_cached=0)
        seen = observer.observe(look(2.0 * n + 1.0, again), events)
    assert "not-reused" not in keys(seen)


@pytest.mark.parametrize(("n_prompt", "expected"), [(1, []), (2, ["not-reused"])])
def test_the_only_token_of_a_prompt_is_always_computed(n_prompt: int, expected: list[str]) -> None:
    observer = Observer()
    for n in range(4):
        events = [SlotChosen(float(n), 1, n, "lcp", similarity=1.0), TaskStarted(float(n), 1, n, 0.0, n_prompt)]
        busy = generating(1, n, 3, n_prompt=n_prompt, n_prompt_processed=n_prompt, n_prompt_cached=0)
        seen = observer.observe(look(float(n), idle(0, 0), busy), events)
    assert keys(seen) == expected


def test_a_slot_matched_and_reused_is_fine() -> None:
    observer = Observer()
    for n in range(4):
        events = [SlotChosen(float(n), 1, n, "lcp", similarity=0.82)]
        busy = generating(1, n, 3, n_prompt_processed=18, n_prompt_cached=82)
        seen = observer.observe(look(float(n), idle(0, 0), busy), events)
    assert keys(seen) == []


def test_told_context_shifts() -> None:
    shifts = [ContextShifted(0.5 * n, 0, 7, 1, 254, 127) for n in range(3)]
    seen = watch_all([(look(2.0, generating(0, 7, 900, n_tokens=200, n_ctx=256)), shifts)])
    assert found(seen[-1], "context-shift").evidence == "context shifted 3 times; 900 decoded, 200 of 256 held"


def test_pool_nearly_full_stands_while_it_goes_up_and_down_a_little() -> None:
    observer = Observer()
    shown = []
    for t in range(40):
        active = 1850 + (20 if t % 2 else -20)  # 0.9 of 2048 is 1843
        seen = observer.observe(look(t / 4, generating(0, 1, 5 + t), pool=pool(active, 0, 2048, unified=True)))
        shown.append("pool-nearly-full" in keys(seen))
    assert shown.index(True) < 10
    assert all(shown[shown.index(True) :])


SCENE_FINDING = Finding("test", "text", "evidence", "advice")
OTHER = Finding("other", "text", "evidence", "advice")


def scene(at: float) -> Scene:
    return Scene(Snapshot(time=at, health=LIVE), {}, {}, Memory())


def test_a_finding_appears_late_and_lingers() -> None:
    holds = {0, 1, 2, 3, 5}
    rule = Rule(lambda here: SCENE_FINDING if here.snapshot.time in holds else None, after=2.0, linger=3.0)
    keeper = FindingKeeper([rule])
    shown = [bool(keeper.update(scene(float(t)))) for t in range(10)]
    assert shown == [False, False, True, True, True, True, True, True, False, False]


@pytest.mark.parametrize(
    ("subject", "others", "others_after", "lingers"),
    [("a", "a", 0.0, False), ("a", "a", 9.0, True), ("a", "b", 0.0, True), ("", "", 0.0, True)],
)
def test_a_finding_lingers_unless_another_about_its_subject_is_shown(
    subject: str, others: str, others_after: float, lingers: bool
) -> None:
    first = Rule(lambda here: SCENE_FINDING if here.snapshot.time == 0 else None, after=0.0, subject=subject)
    other = Rule(lambda here: OTHER if here.snapshot.time else None, after=others_after, subject=others)
    keeper = FindingKeeper([first, other])
    keeper.update(scene(0.0))
    assert (SCENE_FINDING in keeper.update(scene(1.0))) is lingers


def test_one_answer_that_grows_old_is_no_finding() -> None:
    queue = WaitingView(count=3)
    old = [look(float(at), generating(0, 1, 5), seen_at=0.0, waiting=queue) for at in range(30)]
    assert not watch(old).findings


@pytest.mark.parametrize("state", [HealthState.REFUSED, HealthState.NO_ANSWER, HealthState.STALLED, HealthState.ASLEEP])
def test_nothing_is_found_in_what_a_server_said_before_it_fell_silent(state: HealthState) -> None:
    queue = WaitingView(count=3)
    observer = Observer()
    assert watch((look(at, generating(0, 1, at), waiting=queue) for at in range(6)), observer).findings
    gone = look(6, generating(0, 1, 5), seen_at=5, waiting=queue, health=Health(state))
    assert not watch([gone], observer).findings
    assert watch([look(7, generating(0, 1, 7), waiting=queue)], observer).findings  # a moment's trouble forgets nothing


def test_a_bad_answer_now_and_then_makes_no_finding_flicker() -> None:
    queue = WaitingView(count=3)
    observer = Observer()
    watch((look(at, generating(0, 1, at), waiting=queue) for at in range(6)), observer)
    bad = [look(at, generating(0, 1, 5), seen_at=5, waiting=queue, health=Health(HealthState.ERROR)) for at in (7, 20)]
    assert [bool(watch([one], observer).findings) for one in bad] == [True, False]


def test_counts_that_jump_back_and_forth_are_no_context_shift() -> None:
    looks = (look(at, generating(0, 1, n := 500 if at % 2 else 5, n_tokens=20 + n)) for at in range(12))
    assert "context-shift" not in keys(watch(looks))


@pytest.mark.parametrize("n_ctx", [2048, 804])
def test_guesses_of_a_draft_model_that_come_and_go_are_no_context_shift(n_ctx: int) -> None:
    """As measured: guesses are held while they are checked, and most of them go again."""
    seen = [(686, 37), (739, 51), (714, 65), (757, 70), (725, 76), (800, 94), (750, 101)]
    looks = (look(t, generating(0, 1, n, n_tokens=held, n_ctx=n_ctx)) for t, (held, n) in enumerate(seen))
    assert "context-shift" not in keys(watch(looks))


def test_a_context_shift_is_seen_although_the_slot_holds_more_than_before() -> None:
    seen = [(300, 100), (485, 412), (500, 555)]  # in between it was full, and half of it was dropped
    looks = (look(t, generating(0, 1, n, n_tokens=held, n_ctx=512)) for t, (held, n) in enumerate(seen))
    evidence = "context shifted at least 2 times; 555 decoded, 500 of 512 held"
    assert found(watch(looks), "context-shift").evidence == evidence


def test_errors_stand_first() -> None:
    grave = Finding("grave", "text", "evidence", "advice", severity="error")
    keeper = FindingKeeper([Rule(lambda _: SCENE_FINDING, after=0.0), Rule(lambda _: grave, after=0.0)])
    assert [finding.key for finding in keeper.update(scene(0.0))] == ["grave", "test"]


def test_every_rule_is_silent_about_nothing() -> None:
    assert [rule.find(scene(0.0)) for rule in RULES] == [None] * len(RULES)
