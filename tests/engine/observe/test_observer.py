"""An observer over a poll series of the real server, and over restarts, gaps and silence."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType

import pytest

from slotview.engine.events import Retuned, TaskEnded
from slotview.engine.observe.observer import Observer
from slotview.engine.observe.recording.reader import load_recording
from slotview.engine.snapshot import (
    EndpointState,
    EndpointView,
    Health,
    HealthState,
    PollView,
    ServerFacts,
    SlotView,
    Snapshot,
    Totals,
)

from .polls import POLL, generating, idle, look, prefilling, watch, watch_all


def test_first_look_makes_no_rate() -> None:
    seen = watch([look(0.0, generating(0, 7, 900))])
    assert seen.rates[0].generation is None
    assert seen.generation_rate is None
    assert seen.history[0].busy == 1


def test_two_answers_make_a_rate() -> None:
    seen = watch([look(0.0, generating(0, 7, 900)), look(2.0, generating(0, 7, 950))])
    assert seen.rates[0].generation == pytest.approx(25.0)
    assert seen.generation_rate == pytest.approx(25.0)


def test_time_counts_between_answers_not_between_looks() -> None:
    looks = [look(0.0, generating(0, 7, 100)), look(9.0, generating(0, 7, 120), seen_at=2.0)]
    assert watch(looks).rates[0].generation == pytest.approx(10.0)


def test_the_same_answer_twice_tells_nothing_new() -> None:
    looks = [look(0.0, generating(0, 7, 100)), look(1.0, generating(0, 7, 110))]
    observer = Observer()
    before = watch(looks, observer)
    again = observer.observe(look(1.5, generating(0, 7, 110), seen_at=1.0))
    assert again.rates == before.rates
    assert again.history == before.history


def test_all_slots_add_up_while_each_keeps_its_own_speed() -> None:
    looks = [look(float(t), *[generating(slot, slot, 1 + 10 * t) for slot in range(4)]) for t in range(4)]
    seen = watch(looks)
    assert seen.generation_rate == pytest.approx(40.0)
    assert [rate.generation for rate in seen.rates.values()] == pytest.approx([10.0] * 4)


def test_tokens_of_a_task_that_ended_between_two_looks_count() -> None:
    seen = watch_all(
        [
            (look(0.0, idle(0, 1)), []),
            (look(1.0, idle(0, 1)), []),
            (look(2.0, idle(0, 2)), [TaskEnded(1.8, 0, 2, "limit", n_decoded=30)]),
        ]
    )
    assert seen[-1].generation_rate == pytest.approx(15.0)


def test_tokens_of_tasks_whose_end_nobody_saw_make_the_speed_a_lower_bound() -> None:
    first, second = generating(0, 1, 100), generating(0, 2, 5)
    seen = watch_all((look(float(t), slot), ()) for t, slot in enumerate([idle(0, 0), first, second, second, second]))
    assert [one.generation_at_least for one in seen] == [False, False, True, True, True]
    later = watch_all((look(float(t), second), ()) for t in range(9))
    assert not any(one.generation_at_least for one in later)


def test_a_speed_of_at_least_nothing_is_not_known() -> None:
    looks = [look(float(t), idle(0, t)) for t in range(5)]
    seen = watch(looks)
    assert (seen.generation_rate, seen.prompt_rate) == (None, None)
    assert watch(look(float(t), idle(0, 4)) for t in range(5)).generation_rate == 0.0


def test_an_idle_slot_still_shows_how_far_its_last_task_got() -> None:
    """30 tokens were decoded after the last look; the very last one is in no slot (spec §4.4)."""
    seen = watch([
        look(0.0, idle(0, 0)),
        look(1.0, generating(0, 1, 100, n_tokens=120)),
        look(2.0, idle(0, 1, n_tokens=149)),
    ])  # fmt: skip
    assert (seen.generation_rate, seen.generation_at_least) == ((100 + 29) / 2.0, False)


def test_a_slot_that_was_emptied_does_not_show_how_far_its_last_task_got() -> None:
    seen = watch([look(1.0, generating(0, 1, 100, n_tokens=120)), look(2.0, idle(0, 1, n_tokens=0))])
    assert seen.generation_at_least


def test_the_servers_counter_tells_of_answers_too_short_to_be_seen() -> None:
    """Ten tokens in each second; what was counted is known one look later."""

    def at(t: int) -> Snapshot:
        ends = MappingProxyType({"metrics": EndpointView(EndpointState.OK, answered_at=t + 0.1)})
        facts = ServerFacts(source="http://host:8080", endpoints=ends)
        return look(t + 0.2, idle(0, t), seen_at=float(t), facts=facts, totals=Totals(predicted_tokens=10.0 * t))

    seen = watch(map(at, range(1, 12)))
    assert seen.generation_rate == pytest.approx(8.0, abs=0.5)
    assert seen.generation_at_least


def test_what_an_event_tells_of_the_end_is_exact_also_where_it_comes_late() -> None:
    end = TaskEnded(1.5, 0, 1, "limit", n_decoded=130)
    looks = [look(0.0, idle(0, 0)), look(1.0, generating(0, 1, 100)), look(2.0, idle(0, 1))]
    assert not watch_all(zip(looks, ((), (), [end]), strict=True))[-1].generation_at_least
    late = watch_all(zip([*looks, look(3.0, idle(0, 1))], ((), (), (), [end]), strict=True))
    assert [one.generation_at_least for one in late] == [False, False, True, False]


@pytest.mark.parametrize(("n_decoded", "speed"), [(1, 100.0), (0, 0.0), (None, 0.0)])
def test_a_prompt_that_was_refused_or_given_up_was_not_processed(n_decoded: int | None, speed: float) -> None:
    end = TaskEnded(1.8, 0, 2, "error" if not n_decoded else "limit", n_decoded, n_prompt=210, n_cached=10)
    seen = watch_all([(look(0.0, idle(0, 1)), []), (look(1.0, idle(0, 1)), []), (look(2.0, idle(0, 2)), [end])])
    assert seen[-1].prompt_rate == pytest.approx(speed)


def test_an_ended_task_is_not_counted_twice_by_a_late_look() -> None:
    seen = watch_all(
        [
            (look(0.0, generating(0, 1, 1)), []),
            (look(1.0, generating(0, 1, 20)), [TaskEnded(1.0, 0, 1, "limit", n_decoded=41)]),
            (look(2.0, idle(0, 1)), []),
        ]
    )
    assert seen[-1].generation_rate == pytest.approx(20.0)


def test_one_absurd_count_does_not_silence_what_comes_after() -> None:
    counts = [10 * at + (10**9 if at == 5 else 0) for at in range(20)]
    seen = watch_all((look(float(at), generating(0, 7, n)), ()) for at, n in enumerate(counts))
    rates = [one.generation_rate for one in seen]
    assert rates[-1] == pytest.approx(10)
    assert max(rate for rate in rates if rate is not None) < 11


def test_the_engines_own_times_win() -> None:
    slot = generating(0, 7, 101, n_prompt_processed=500, prompt_seconds=0.5, generation_seconds=4.0)
    rate = watch([look(0.0, slot)]).rates[0]
    assert rate.generation == pytest.approx(25.0)
    assert rate.prompt == pytest.approx(1000.0)


def test_the_first_piece_of_a_prompt_has_a_speed_if_its_beginning_was_seen() -> None:
    looks = [look(0.0, idle(0, 1)), *[look(float(t), prefilling(0, 2, 512 if t == 4 else 0)) for t in range(1, 5)]]
    assert watch(looks).rates[0].prompt == pytest.approx(512 / 3)
    assert watch(looks[2:]).rates[0].prompt is None, "nobody knows when it began"


def test_prompt_tokens_count_for_the_time_that_they_took() -> None:
    counts = [0, 512, 512, 512, 1024, 1024, 1024, 1024]
    looks = [look(0.0, idle(0, 1)), *[look(float(t), prefilling(0, 2, n)) for t, n in enumerate(counts, 1)]]
    assert watch(looks[:6]).prompt_rate == pytest.approx(1024 / 5)
    assert watch(looks).prompt_rate == pytest.approx(512 * 2 / 3 / 5), "a third of the second piece is longer ago"


def test_two_tokens_have_a_speed_by_the_engines_clock() -> None:
    assert watch([look(0.0, generating(0, 7, 2, generation_seconds=0.5))]).rates[0].generation == pytest.approx(2.0)


def test_a_prompt_that_waits_beside_a_slot_in_which_nothing_moves_is_stuck() -> None:
    looks = [look(float(t), generating(0, 1, 9), prefilling(1, 2, 0)) for t in range(200)]
    assert watch(looks).rates[1].stalled_for == pytest.approx(199.0)


@pytest.mark.parametrize(("meanwhile", "speeds"), [(180_000, [50.0, 50.0, 50.0]), (25, [0.0, 10.0, 50.0])])
def test_a_speed_goes_back_five_seconds_and_not_over_the_hour_that_this_machine_slept(
    meanwhile: int, speeds: list[float]
) -> None:
    """The server went on, or slept as well."""
    at = [*range(6), *range(3605, 3615)]
    counts = [50 * t if t < 10 else 250 + meanwhile + 50 * (t - 3605) for t in at]
    looks = ((look(float(t), generating(0, 1, 1 + n)), ()) for t, n in zip(at, counts, strict=True))
    seen = [one.rates[0].generation for one in watch_all(looks)]
    assert [seen[6], seen[7], seen[-1]] == pytest.approx(speeds, abs=0.05)


def test_a_gap_breaks_the_line() -> None:
    seen = watch([look(0.0, idle(0, 1)), look(1.0, idle(0, 1)), look(30.0, idle(0, 1))])
    assert [point.break_before for point in seen.history] == [False, False, True]
    assert seen.restarts == 0


def test_doubling_gaps_while_idle_are_no_gap() -> None:
    resting = PollView(interval=1.0, idle_gap=32.0)
    seen = watch([look(0.0, idle(0, 1), poll=resting), look(32.0, idle(0, 1), poll=resting)])
    assert not seen.history[-1].break_before


def test_a_long_step_of_the_embedded_engine_is_no_gap() -> None:
    seen = watch([look(0.0, idle(0, 1), poll=None), look(9.0, generating(0, 2, 1), poll=None)])
    assert not seen.history[-1].break_before


def test_slots_in_another_order_are_no_restart() -> None:
    first, second = generating(0, 5, 5), idle(1)
    looks = (look(at, *((first, second) if at % 2 else (second, first))) for at in range(6))
    assert watch(looks).restarts == 0


def test_slots_in_another_order_keep_their_own_speeds_in_the_chart() -> None:
    looks = (look(t, generating(7, 1, int(10 * t)), generating(2, 2, int(50 * t))) for t in (1.0, 2.0, 3.0))
    point = watch(looks).history[-1]
    assert [point.slot_rate(slot) for slot in (7, 2, 0)] == [10.0, 50.0, None]


def test_a_slot_unused_again_is_a_restart() -> None:
    seen = watch([look(0.0, idle(0, 5), idle(1, 6)), look(1.0, idle(0), idle(1))])
    assert seen.restarts == 1
    assert seen.history[-1].break_before


def test_two_tokens_a_second_apart_are_a_speed() -> None:
    assert watch([look(0.0, generating(0, 1, 1)), look(1.0, generating(0, 1, 2))]).rates[0].generation == 1.0


def test_a_count_of_prompt_tokens_that_fell_is_counted_anew() -> None:
    counts = (0, 2048, 100, 600, 1100)
    assert watch(look(float(t), prefilling(0, 1, n)) for t, n in enumerate(counts)).rates[0].prompt == 500.0


def test_an_answer_older_than_the_one_before_is_of_another_run() -> None:
    """As in a recording whose second half was made after the machine had been started anew."""
    assert watch([look(9.0, generating(0, 1, 50)), look(9.0, generating(0, 1, 60), seen_at=2.0)]).restarts == 1


def test_a_recording_that_plays_again_counts_the_restarts_in_it_anew() -> None:
    played = [
        look(1.0, generating(0, 900, 5), is_replayed=True),
        look(2.0, generating(0, 3, 5), is_replayed=True),
    ]
    assert watch(played).restarts == 1
    assert watch([*played, played[0]]).restarts == 0
    assert watch([*played, *played]).restarts == 1


def test_a_younger_task_that_ran_first_is_no_restart() -> None:
    looks = [
        look(0.0, generating(0, 300, 5), generating(1, 315, 5)),
        look(1.0, generating(0, 311, 5), generating(1, 310, 5)),
    ]
    assert watch(looks).restarts == 0


def test_a_request_that_overtook_the_only_other_one_is_no_restart_where_the_server_says_so() -> None:
    """With one slot, a pinned request that goes first leaves lower ids in all slots, as a restart does (spec §5.5)."""
    runs = {"same": ("a", "a"), "new": ("a", "b"), "untold": (None, None)}
    restarts = {}
    for name, (first, second) in runs.items():
        looks = [(0.0, 9, first), (1.0, 7, second)]
        facts = [(at, task, ServerFacts(source="http://host:8080", run=run)) for at, task, run in looks]
        seen = watch(look(at, generating(0, task, 5), facts=told) for at, task, told in facts)
        restarts[name] = seen.restarts
    assert restarts == {"same": 0, "new": 1, "untold": 1}
    counted = (look(at, generating(0, task, 5), totals=Totals(decodes=99.0 + at)) for at, task in ((0.0, 9), (1.0, 7)))
    assert watch(counted).restarts == 0


def test_a_restart_that_counters_and_slots_tell_one_after_the_other_is_one() -> None:
    before, after = Totals(decodes=900.0), Totals(decodes=12.0)
    old, new = generating(0, 912, 900), generating(0, 3, 5)
    start = [look(0.0, old, totals=before), look(1.0, old, totals=before)]
    slots_first = [look(2.0, new, totals=before), look(3.0, new, totals=before), look(4.0, new, totals=after)]
    fresh_first = [look(2.0, idle(0), totals=before), look(3.0, new, totals=after)]
    counters_first = [look(2.0, old, seen_at=1.0, totals=after), look(3.0, new, totals=after)]
    assert watch([*start, *slots_first]).restarts == 1
    assert watch([*start, *counters_first]).restarts == 1
    assert watch([*start, *fresh_first]).restarts == 1


def test_a_restart_that_slots_and_a_mark_tell_one_after_the_other_is_one() -> None:
    def at(time: float, run: str, *slots: SlotView, seen_at: float | None = None) -> Snapshot:
        return look(time, *slots, seen_at=seen_at, facts=ServerFacts(source="http://host:8080", run=run))

    start = [at(0.0, "a", idle(0, 912))]
    slots_first = [at(1.0, "a", idle(0)), at(1.2, "b", idle(0), seen_at=1.0), at(2.0, "b", idle(0))]
    mark_first = [at(0.2, "b", idle(0, 912), seen_at=0.0), at(1.0, "b", idle(0)), at(2.0, "b", idle(0))]
    assert watch([*start, *slots_first]).restarts == 1
    assert watch([*start, *mark_first]).restarts == 1


def test_a_model_that_woke_is_no_restart() -> None:
    observer = Observer()
    observer.observe(look(0.0, idle(0, 5)))
    observer.observe(look(5.0, idle(0, 5), seen_at=0.0, health=Health(HealthState.ASLEEP)))
    seen = observer.observe(look(9.0, idle(0)))
    assert seen.restarts == 0
    assert seen.history[-1].break_before


def test_a_model_that_slept_unseen_is_no_restart() -> None:
    facts = ServerFacts(source="http://host:8080", run="a")
    seen = watch(look(t, slot, facts=facts) for t, slot in ((0.0, idle(0, 5)), (9.0, idle(0)), (10.0, idle(0))))
    assert seen.restarts == 0
    assert seen.history[-2].break_before


def test_a_retune_begins_afresh_and_is_no_restart() -> None:
    looks = [
        (look(0.0, generating(0, 1, 10), poll=None), []),
        (look(1.0, generating(0, 1, 20), poll=None), []),
        (look(1.2, prefilling(0, 1, 0, n_decoded=20), idle(1), poll=None), [Retuned(1.1, "-np 2")]),
    ]
    seen = watch_all(looks)[-1]
    assert seen.restarts == 0
    assert seen.history[-1].break_before
    assert seen.generation_rate is None


def test_a_task_that_was_queued_again_by_a_retune_counts_no_token_twice() -> None:
    looks = [
        (look(0.0, generating(0, 1, 10), generating(1, 2, 10), poll=None), []),
        (look(1.0, generating(0, 1, 90), generating(1, 2, 90), poll=None), []),
        (look(1.2, idle(0), poll=None), [Retuned(1.1, "-np 1")]),
        (look(1.5, prefilling(0, 1, 0, n_decoded=90), poll=None), []),
        (look(2.2, generating(0, 1, 100), poll=None), []),
        (look(2.3, idle(0), poll=None), [Retuned(2.3, "-np 1")]),
        (look(2.6, prefilling(0, 2, 0, n_decoded=90), poll=None), []),
        (look(3.3, generating(0, 2, 95), poll=None), []),
    ]
    rates = [seen.generation_rate for seen in watch_all(looks)]
    assert rates[3:5] == [pytest.approx(0.0), pytest.approx(10.0)]
    assert rates[6:] == [pytest.approx(0.0), pytest.approx(5.0)]


def test_a_server_that_hides_its_slots_still_has_a_history() -> None:
    observer = Observer()
    bare = look(0.0, waiting=2)
    for at in (0.0, 1.0, 2.0):
        seen = observer.observe(
            type(bare)(time=at, serial=int(at), health=bare.health, poll=POLL, waiting=bare.waiting, slots=None)
        )
    assert [point.waiting for point in seen.history] == [2, 2, 2]
    assert seen.history[-1].busy is None
    assert seen.generation_rate is None


def test_eight_requests_on_four_slots_of_a_real_server() -> None:
    """64 tokens each, four at a time, about 57 tokens/s in every slot."""
    frames = load_recording(Path(__file__).parent / "data" / "eight_requests_on_four_slots.jsonl").frames
    observer = Observer()
    seen = [observer.observe(frame.snapshot) for frame in frames]
    assert [point.waiting for point in seen[-1].history][:12] == [0, *[4] * 10, 1]
    speeds = [look.generation_rate for look in seen[3:]]
    assert all(speed is not None and 195 < speed < 225 for speed in speeds)
    own = [rate for look in seen for slot in look.rates.values() if (rate := slot.generation) is not None]
    assert len(own) > 60
    assert all(53 < rate < 60 for rate in own)
    assert [gone.task for gone in seen[-1].ended] == [315, 316, 317, 319]
    assert seen[-1].restarts == 0
