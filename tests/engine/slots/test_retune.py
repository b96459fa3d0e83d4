"""Other flags under running requests: nobody loses a token or says one twice."""

from __future__ import annotations

from typing import Any

import pytest

from slotview.engine.backend import RetuneReport
from slotview.engine.context.preview import preview_of
from slotview.engine.events import Retuned, TaskStarted
from slotview.engine.slots.core import Core
from slotview.engine.slots.report.timing_values import timing_values
from slotview.engine.snapshot import SlotState
from tests.engine.slots.desk import STEP_US, Desk, numbered, plan_of


def retune(desk: Desk, **flags: Any) -> RetuneReport:
    plan = plan_of(desk.model.n_ctx_train, **flags)
    core = Core(plan, desk.model, desk.options, now=desk.now)
    report = core.requeue(desk.core.take_for_retune(), desk.now)
    desk.core = core
    return report


def test_running_requests_go_on_to_the_text_they_would_have_had() -> None:
    calm = Desk(parallel=4, ctx_size=2048)
    expected = [calm.answer(numbered(10 + i, i), n_predict=40).text for i in range(6)]
    desk = Desk(parallel=4, ctx_size=2048)
    tasks = desk.post(*(numbered(10 + i, i) for i in range(6)), n_predict=40, stream=True)
    desk.step(10)
    report = retune(desk, parallel=2, ctx_size=2048)
    desk.step(7)
    retune(desk, parallel=3, ctx_size=1024, kv_unified=True)
    desk.run()
    assert report.n_requeued == 4
    assert [desk.final(task).text for task in tasks] == expected
    assert [desk.streamed(task) for task in tasks] == expected
    assert [desk.final(task).n_decoded for task in tasks] == [40] * 6
    assert [desk.final(task).n_prompt for task in tasks] == [10 + i for i in range(6)]


def test_a_retune_of_idle_slots_counts_nothing() -> None:
    assert retune(Desk(parallel=4, ctx_size=2048), parallel=2, ctx_size=2048).summary == "no request was running"


def test_one_request_is_told_in_the_singular() -> None:
    desk = Desk(parallel=4, ctx_size=2048)
    desk.answer(numbered(20, 1), n_predict=1)
    desk.post(numbered(10, 0), n_predict=40)
    desk.step(5)
    plan = plan_of(desk.model.n_ctx_train, parallel=2, ctx_size=2048)
    running, kept = preview_of(plan, desk.core.snapshot(desk.now)).notes[-2:]
    assert running == "1 running request queued again; about 14 tokens processed again"
    assert kept == "20 tokens kept in idle slots are lost; their prompts are processed again when repeated"
    assert retune(desk, parallel=2, ctx_size=2048).summary.startswith("1 running request queued again, ")


def test_what_a_retune_of_idle_slots_would_do() -> None:
    desk = Desk(parallel=2, ctx_size=512)
    now = desk.core.snapshot(desk.now)
    preview = preview_of(plan_of(desk.model.n_ctx_train, parallel=1, ctx_size=512), now)
    assert (preview.notes, preview.command, preview.kv_bytes_now) == ((), "slotview -c 512 -np 1", now.pool.n_bytes)
    assert preview.log[-1].endswith("initializing, n_slots = 1, n_ctx_slot = 512, kv_unified = 'false'")


def test_waiting_for_a_slot_again_is_told_from_the_retune_on_and_is_no_time_of_generation() -> None:
    desk = Desk(parallel=2, ctx_size=512)
    tasks = [desk.ask(numbered(5, i), n_predict=20) for i in range(2)]
    desk.step(6)
    at = desk.now
    retune(desk, parallel=1, ctx_size=512)
    desk.step(2)
    (waiting,) = desk.core.snapshot(desk.now).waiting.requests or ()
    assert waiting.since == at / 1e6
    desk.run()
    first, second = (desk.final(task).timings.predicted_us for task in tasks)
    assert abs(first - second) <= STEP_US
    assert desk.happened(TaskStarted)[-1].waited == pytest.approx((first - 6 * STEP_US) / 1e6, abs=4 * STEP_US / 1e6)


def test_times_of_generation_stand_still_until_it_goes_on() -> None:
    desk = Desk(parallel=1, ctx_size=1024, batch=64)
    desk.ask(numbered(300), n_predict=20)
    desk.step(10)
    (before,) = desk.core.snapshot(desk.now).slots or ()
    desk.now += 500 * STEP_US
    retune(desk, parallel=1, ctx_size=2048, batch=64)
    desk.step(2)
    (after,) = desk.core.snapshot(desk.now).slots or ()
    assert after.state is SlotState.PROMPT
    assert before.n_decoded
    assert after.generation_seconds == before.generation_seconds == (before.n_decoded - 1) * STEP_US / 1e6
    assert (after.n_prompt_processed, after.prompt_seconds) == (128, 2 * STEP_US / 1e6)


def test_speed_after_a_retune_is_that_of_generation_alone() -> None:
    desk = Desk(parallel=1, ctx_size=1024, batch=64)
    task = desk.ask(numbered(300), n_predict=20)
    desk.step(10)
    retune(desk, parallel=1, ctx_size=2048, batch=64)
    desk.run()
    values = timing_values(desk.final(task).timings)
    assert values["predicted_n"] == 20
    assert values["predicted_per_second"] == pytest.approx(1e6 / STEP_US)
    assert values["prompt_n"] == 300 + 306  # processed twice, the second time with what had been generated
    assert values["prompt_ms"] == 10 * STEP_US / 1e3


@pytest.mark.parametrize("chain", [{"repeat_penalty": 1.3}, {"mirostat": 2, "mirostat_eta": 0.5}])
def test_a_sampler_goes_on_where_it_was(chain: dict[str, float]) -> None:
    given: dict[str, Any] = {"n_predict": 30, "temperature": 1.5, "seed": 7, "ignore_eos": True, **chain}
    calm = Desk(parallel=1, ctx_size=512).answer(numbered(9), **given)
    desk = Desk(parallel=1, ctx_size=512)
    task = desk.ask(numbered(9), **given)
    desk.step(11)
    retune(desk, parallel=1, ctx_size=1024)
    desk.run()
    assert desk.final(task).text == calm.text


def test_those_who_ran_are_first_in_order_of_arrival_and_waiters_keep_theirs() -> None:
    desk = Desk(parallel=3, ctx_size=768)
    tasks = [desk.ask(numbered(5, i), n_predict=20) for i in range(5)]
    desk.step(3)
    report = retune(desk, parallel=1, ctx_size=256)
    desk.run()
    assert desk.order_of_ends() == tasks
    assert report.n_tokens_again == 3 * (5 + 2)
    assert desk.happened(Retuned)[0].n_requeued == 3


def test_one_that_no_longer_fits_ends_with_the_too_long_error() -> None:
    desk = Desk(parallel=1, ctx_size=1024)
    task = desk.ask(numbered(300), n_predict=50)
    desk.step(5)
    report = retune(desk, parallel=4, ctx_size=1024)
    desk.run()
    assert (report.n_requeued, report.n_ended) == (0, 1)
    assert desk.failed(task).kind == "exceed_context_size_error"


def test_pins_wrap_to_the_slots_there_are_now() -> None:
    desk = Desk(parallel=4, ctx_size=1024)
    task = desk.ask(numbered(5), n_predict=20, id_slot=3)
    desk.step(3)
    retune(desk, parallel=2, ctx_size=512)
    desk.run()
    assert desk.final(task).slot == 1


def test_a_family_whose_prompt_was_not_done_starts_again_or_each_for_itself() -> None:
    for n_slots in (3, 2):
        desk = Desk(parallel=3, ctx_size=1536, batch=64)
        tasks = desk.post(numbered(200), n_predict=6, n_cmpl=3)
        desk.step(2)
        retune(desk, parallel=n_slots, ctx_size=512 * n_slots)
        desk.run()
        assert len({desk.final(task).text for task in tasks}) == 1


def test_children_that_generate_go_on_each_for_itself() -> None:
    desk = Desk(parallel=3, ctx_size=768)
    tasks = desk.post(numbered(20), n_predict=12, n_cmpl=3)
    calm = Desk(parallel=1, ctx_size=256).answer(numbered(20), n_predict=12)
    desk.step(4)
    retune(desk, parallel=2, ctx_size=512)
    desk.run()
    assert [desk.final(task).text for task in tasks] == [calm.text] * 3


def test_waiting_actions_and_cancels_move_along() -> None:
    desk = Desk(parallel=1, ctx_size=256)
    running, waiting = desk.ask(numbered(5), n_predict=20), desk.ask(numbered(5, 1), n_predict=20)
    desk.step(3)
    erase = desk.act("erase", 0)
    desk.step()
    desk.core.cancel(waiting)
    retune(desk, parallel=2, ctx_size=512)
    desk.run()
    assert desk.final(running).n_decoded == 20
    assert desk.failed(waiting).cancelled
    assert desk.done(erase).action == "erase"


def test_results_counters_and_ids_go_on() -> None:
    desk = Desk(parallel=1, ctx_size=256)
    first = desk.answer(numbered(5), n_predict=4)
    retune(desk, parallel=2, ctx_size=512)
    second = desk.answer(numbered(5), n_predict=4)
    assert second.task > first.task
    assert desk.core.scrape().tokens_predicted_total == 8


def test_what_was_reused_and_dropped_before_a_retune_is_still_told() -> None:
    desk = Desk(parallel=1, ctx_size=256, context_shift=True)
    desk.answer(numbered(10), n_predict=1)
    task = desk.ask(numbered(240), n_predict=40)
    desk.step(30)
    retune(desk, parallel=1, ctx_size=512)
    desk.run()
    assert desk.final(task).timings.cache_n == 10
    assert desk.final(task).truncated


def test_a_prompt_that_a_retune_cuts_in_two_is_counted_at_once() -> None:
    desk = Desk(parallel=1, ctx_size=1024, batch=64)
    desk.ask(numbered(300), n_predict=1)
    desk.step(3)
    assert desk.core.scrape().prompt_tokens_total == 0
    retune(desk, parallel=1, ctx_size=2048, batch=64)
    assert desk.core.scrape().prompt_tokens_total == 3 * 64


def test_a_retune_inside_a_character_or_held_text_loses_nothing() -> None:
    desk = Desk(parallel=1, ctx_size=256)
    calm = desk.answer("x", n_predict=30)
    stop = (calm.text[9:12] + "#",)
    for n in range(8, 14):
        desk = Desk(parallel=1, ctx_size=256)
        task = desk.ask("x", n_predict=30, stream=True, stop=stop)
        desk.step(n)
        retune(desk, parallel=1, ctx_size=512)
        desk.run()
        assert desk.streamed(task) == calm.text


def test_the_average_of_busy_slots_is_about_the_present_slots() -> None:
    desk = Desk(parallel=4, ctx_size=2048)
    desk.post(*(numbered(8, i) for i in range(4)), n_predict=20)
    desk.run()
    before = desk.core.metrics
    assert before.busy_per_decode > 1.5
    n_decode = before.n_decode
    retune(desk, parallel=1, ctx_size=2048)
    assert desk.core.metrics.busy_per_decode == 0
    desk.answer(numbered(8), n_predict=5)
    assert desk.core.metrics.busy_per_decode == 1
    assert desk.core.metrics.n_decode > n_decode, "the counters go on"
