"""Who waits, who is woken, and what runs together (spec §5.4, §5.5, §6.3, §11.8, 9, 19, 26, 27)."""

from __future__ import annotations

import time

import pytest

from slotview.engine.events import TaskDeferred, TaskEnded, TaskStarted
from slotview.engine.slots.queue.cancel_order import cancel_order
from slotview.engine.slots.queue.task import Progress, Started
from tests.engine.slots.desk import Desk, numbered


def test_two_slots_released_together_swap_the_two_they_wake() -> None:
    desk = Desk(parallel=2, ctx_size=512)
    names = {desk.ask(numbered(5, i), n_predict=8): name for i, name in enumerate("abcdefg")}
    desk.run()
    assert sorted("ab") == sorted(names[task] for task in desk.order_of_ends()[:2])
    started = [names[event.task] for event in desk.happened(TaskStarted)]
    assert started == list("abdcfeg")


def test_a_pinned_head_blocks_those_behind_it_while_a_slot_is_idle() -> None:
    desk = Desk(parallel=2, ctx_size=512)
    long = desk.ask(numbered(5), n_predict=120, id_slot=0)
    short = desk.ask(numbered(5, 1), n_predict=30, id_slot=1)
    desk.step(2)
    pinned = desk.ask(numbered(5, 2), n_predict=5, id_slot=0)
    free = desk.ask(numbered(5, 3), n_predict=5)
    desk.step(60)
    assert desk.order_of_ends() == [short]
    assert desk.busy == [0]
    assert desk.core.n_deferred == 2
    desk.run()
    assert desk.order_of_ends() == [short, long, pinned, free]
    assert desk.final(pinned).slot == 0
    assert desk.final(free).slot == 1


def test_a_newcomer_overtakes_those_who_wait_behind_a_pin() -> None:
    desk = Desk(parallel=2, ctx_size=512)
    desk.ask(numbered(5), n_predict=120, id_slot=0)
    desk.ask(numbered(5, 1), n_predict=10, id_slot=1)
    desk.step(2)
    waiting = [desk.ask(numbered(5, 2), n_predict=5, id_slot=0), desk.ask(numbered(5, 3), n_predict=5)]
    desk.step(30)
    newcomer = desk.ask(numbered(5, 4), n_predict=5)
    desk.run()
    assert desk.order_of_ends().index(newcomer) < min(desk.order_of_ends().index(task) for task in waiting)


def test_without_continuous_batching_a_prompt_waits_until_nobody_generates() -> None:
    desk = Desk(parallel=2, ctx_size=1024, cont_batching=False)
    first = desk.ask(numbered(5), n_predict=30)
    desk.step(3)
    second = desk.ask(numbered(300, 1), n_predict=5)
    desk.step(20)
    slot = desk.core.slots[0]
    assert slot.is_processing
    assert (slot.n_gen, slot.n_prompt_processed) == (0, 0)
    assert not desk.of(second, Started)
    desk.run()
    assert desk.order_of_ends() == [first, second]


def test_the_lowest_slot_takes_all_the_room_of_a_batch_first() -> None:
    desk = Desk(parallel=3, ctx_size=768, batch=32)
    tasks = desk.post(numbered(50, 0), numbered(40, 1), numbered(10, 2), n_predict=1)
    desk.run()
    assert [desk.final(task).slot for task in tasks] == [2, 1, 0]
    scrape = desk.core.scrape()
    assert scrape.n_decode_total == 4
    assert scrape.n_busy_slots_per_decode == 1.75


def test_more_slots_than_a_batch_has_room_for_all_finish() -> None:
    desk = Desk(parallel=4, ctx_size=3)
    tasks = desk.post(*(numbered(7, i) for i in range(4)), n_predict=10)
    desk.run()
    assert [desk.final(task).n_decoded for task in tasks] == [10] * 4
    assert desk.core.scrape().n_decode_total == 26


def test_a_slot_behind_a_full_batch_is_not_looked_at() -> None:
    desk = Desk(parallel=2, ctx_size=2048, batch=64)
    desk.ask(numbered(600), n_predict=1, id_slot=0)
    late = desk.ask(numbered(1500, 1), n_predict=1, id_slot=1)
    desk.step(3)
    assert not desk.ends(late)
    desk.run()
    assert desk.failed(late).kind == "exceed_context_size_error"


def test_a_deferred_family_does_not_hold_back_a_plain_request() -> None:
    desk = Desk(parallel=4, ctx_size=1024)
    for i in range(3):
        desk.ask(numbered(5, i), n_predict=40)
    desk.step(2)
    family = desk.post(numbered(5, 4), n_predict=5, n_cmpl=3)
    desk.step()
    plain = desk.ask(numbered(5, 5), n_predict=5)
    desk.step()
    assert desk.core.n_deferred == 1
    assert len(desk.busy) == 4
    desk.run()
    assert desk.order_of_ends()[0] == plain
    assert [len(desk.ends(task)) for task in family] == [1, 1, 1]


def test_children_sample_what_the_parent_would_and_leave_their_slots_empty() -> None:
    desk = Desk(parallel=3, ctx_size=768)
    parent, *children = desk.post(numbered(9), n_predict=6, n_cmpl=3)
    desk.run()
    texts = {desk.final(task).text for task in (parent, *children)}
    assert len(texts) == 1
    assert [desk.final(task).index for task in (parent, *children)] == [0, 1, 2]
    assert [desk.final(task).timings.prompt_n for task in (parent, *children)] == [9, 9, 9]
    held = desk.held
    assert sum(1 for n in held if n) == 1
    assert held[desk.final(parent).slot] == 14
    assert desk.core.scrape().prompt_tokens_total == 9


def test_children_of_one_pool_count_their_shared_prompt_once() -> None:
    desk = Desk(parallel=3, ctx_size=768, kv_unified=True)
    desk.post(numbered(100), n_predict=20, n_cmpl=3)
    desk.step(3)
    pool = desk.core.snapshot(desk.now).pool
    assert pool.active == 100 + 3 * 2
    assert sum(len(stream.sharers) for stream in desk.core.cells()) == 100
    desk.run()


def test_seeds_count_up_over_the_children() -> None:
    desk = Desk(parallel=3, ctx_size=768)
    tasks = desk.post(numbered(9), n_predict=2, n_cmpl=3, seed=41, temperature=1.0)
    desk.run()
    assert [desk.final(task).params.sampling.seed for task in tasks] == [41, 42, 43]


def test_outputs_of_several_prompts_are_numbered_prompt_by_prompt() -> None:
    desk = Desk(parallel=4, ctx_size=1024)
    tasks = desk.post(numbered(5), numbered(6, 1), n_predict=2, n_cmpl=2)
    desk.run()
    assert [desk.final(task).index for task in tasks] == [0, 1, 2, 3]
    assert [desk.final(task).n_prompt for task in tasks] == [5, 5, 6, 6]


def test_a_cancel_frees_the_slot_at_the_next_step_and_keeps_its_tokens() -> None:
    desk = Desk(parallel=1, ctx_size=256)
    running, waiting = desk.ask(numbered(5), n_predict=100), desk.ask(numbered(5, 1), n_predict=3)
    desk.step(4)
    desk.core.cancel(running)
    desk.step()
    assert desk.failed(running).cancelled
    assert [(end.task, end.reason) for end in desk.happened(TaskEnded)] == [(running, "cancel")]
    assert desk.core.slots[0].id_task == waiting
    assert not any("eval time" in line for line in desk.log())
    desk.run()
    assert desk.final(waiting).n_decoded == 3


def test_a_cancelled_waiter_never_runs() -> None:
    desk = Desk(parallel=1, ctx_size=256)
    running, waiting = desk.ask(numbered(5), n_predict=10), desk.ask(numbered(5, 1))
    desk.step()
    desk.core.cancel(waiting)
    desk.run()
    assert desk.failed(waiting).cancelled
    assert desk.order_of_ends() == [waiting, running]
    assert [event.task for event in desk.happened(TaskStarted)] == [running]


def test_a_cancelled_parent_takes_its_waiting_children_along() -> None:
    desk = Desk(parallel=2, ctx_size=1024, batch=32)
    tasks = desk.post(numbered(200), n_predict=5, n_cmpl=2)
    desk.step(2)
    desk.core.cancel(tasks[0])
    desk.run()
    assert all(desk.failed(task).cancelled for task in tasks)


def test_an_error_of_one_prompt_cancels_the_others_of_its_request() -> None:
    desk = Desk(parallel=2, ctx_size=512)
    bad, good, waiting = desk.post(numbered(300), numbered(5, 1), numbered(5, 2), n_predict=100)
    other = desk.ask(numbered(5, 3), n_predict=4)
    desk.run()
    assert desk.failed(bad).status == 400
    assert desk.failed(good).cancelled
    assert desk.failed(waiting).cancelled
    assert desk.final(other).n_decoded == 4


def test_a_waiter_is_woken_although_a_slot_action_took_the_last_release() -> None:
    desk = Desk(parallel=1, ctx_size=256)
    desk.ask(numbered(5), n_predict=5)
    desk.step(2)
    erase, waiting = desk.act("erase", 0), desk.ask(numbered(5, 1), n_predict=5)
    desk.run()
    assert desk.done(erase).n_tokens == 9
    assert desk.final(waiting).n_decoded == 5


def test_who_waits_is_told_with_pin_and_time() -> None:
    desk = Desk(parallel=1, ctx_size=256)
    desk.ask(numbered(5), n_predict=50)
    desk.step()
    since = desk.now
    task = desk.ask(numbered(7, 1), n_predict=1, id_slot=0)
    desk.act("save", 0)
    desk.step()
    waiting = desk.core.snapshot(desk.now).waiting
    assert waiting.count == 2
    assert waiting.requests is not None
    first, second = waiting.requests
    assert (first.task, first.n_prompt, first.id_slot, first.since) == (task, 7, 0, since / 1e6)
    assert (second.kind, second.id_slot) == ("save", 0)
    anywhere = desk.ask(numbered(7, 1), n_predict=1)
    desk.step()
    assert [(event.task, event.id_slot) for event in desk.happened(TaskDeferred)] == [(task, 0), (anywhere, None)]


def test_static_batching_takes_the_next_batch_when_the_last_of_this_one_is_done() -> None:
    desk = Desk(parallel=2, ctx_size=512, batching="static")
    short, long, third, fourth = (desk.ask(numbered(5, i), n_predict=n) for i, n in enumerate((3, 12, 3, 3)))
    desk.step(8)
    assert desk.order_of_ends() == [short]
    assert desk.core.n_deferred == 2
    desk.run()
    assert desk.order_of_ends()[:2] == [short, long]
    assert sorted(desk.order_of_ends()[2:]) == [third, fourth]


def test_progress_is_told_at_the_start_and_for_every_piece() -> None:
    desk = Desk(parallel=1, ctx_size=512, batch=40)
    desk.answer(numbered(30), n_predict=1)
    task = desk.ask(numbered(101), n_predict=2, stream=True, return_progress=True)
    desk.run()
    told = [(part.total, part.cache, part.processed) for part in desk.of(task, Progress)]
    assert told == [(101, 30, 30), (101, 30, 70), (101, 30, 101)]
    assert [part.time_us for part in desk.of(task, Progress)] == [0, 1000, 2000]
    whole = desk.ask(numbered(101, 1), n_predict=2, return_progress=True)
    desk.run()
    assert not desk.of(whole, Progress)


@pytest.mark.parametrize(
    ("n", "n_prompts", "asked"),
    [
        (3, 3, [2, 1, 0]),
        (3, 1, [2, 0, 1]),
        (6, 1, [5, 1, 0, 2, 3, 4]),
        (8, 1, [7, 6, 5, 1, 0, 2, 3, 4]),
        (12, 2, [11, 4, 3, 2, 0, 1, 5, 6, 7, 8, 9, 10]),
    ],
)
def test_a_request_is_cancelled_in_the_order_of_a_hash_set(n: int, n_prompts: int, asked: list[int]) -> None:
    assert [task - 40 for task in cancel_order(range(40, 40 + n), n_prompts)] == asked


def test_thousands_who_wait_are_given_up_at_once() -> None:
    desk = Desk(parallel=1, ctx_size=512)
    first = desk.ask(numbered(5), n_predict=200)
    desk.step(2)
    crowd = desk.post(*[numbered(3)] * 20_000)
    desk.step(1)
    assert desk.core.n_deferred == 20_000
    began = time.process_time()
    for task in (*reversed(crowd), first, *crowd):  # a client may ask twice
        desk.core.cancel(task)
    desk.step(1)
    assert time.process_time() - began < 5
    assert desk.core.n_deferred == 0
    assert all(len(desk.ends(task)) == 1 for task in (crowd[0], crowd[-1]))
    assert not desk.busy


def test_what_is_given_up_while_it_waits_gets_no_slot_that_is_released_meanwhile() -> None:
    desk = Desk(parallel=2, ctx_size=512)
    too_long, short, *waiting = desk.post(*(numbered(n, n) for n in (300, 5, 6, 7)), n_predict=1)
    desk.run()
    assert desk.failed(too_long).kind == "exceed_context_size_error"
    assert [desk.failed(task).cancelled for task in waiting] == [True, True]
    assert {event.task for event in desk.happened(TaskStarted)} == {too_long, short}


def test_a_child_that_waits_with_its_parent_is_given_up_alone() -> None:
    desk = Desk(parallel=2, ctx_size=512)
    running = [desk.ask(numbered(5), n_predict=20), desk.ask(numbered(5, 1), n_predict=20)]
    desk.step(2)
    parent, child = desk.post(numbered(5, 2), n_cmpl=2, n_predict=3)
    desk.core.cancel(child)
    desk.run()
    assert len(desk.ends(child)) == 1
    assert desk.final(parent).n_decoded == 3
    assert {desk.final(task).n_decoded for task in running} == {20}


def test_outputs_that_no_longer_have_slots_at_once_run_one_after_the_other() -> None:
    desk = Desk(parallel=2, ctx_size=512)  # the request was checked for more slots, then the engine was retuned
    tasks = desk.post(numbered(5), n_predict=3, n_cmpl=3, id_slot=0)
    desk.run(limit=100)
    assert [desk.final(task).n_decoded for task in tasks] == [3, 3, 3]
    assert [desk.final(task).index for task in tasks] == [0, 1, 2]
    assert [desk.final(task).slot for task in tasks[:2]] == [0, 1]  # only the first is pinned
