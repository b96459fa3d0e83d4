"""Cases users of llama-server ran into, as far as the scheduler alone shows them."""

from __future__ import annotations

import pytest

from slotview.engine.events import ContextShifted, PoolFull, Purged, SlotChosen
from slotview.engine.slots.queue.task import StopType
from tests.engine.slots.desk import Desk, numbered


def test_c12_leaving_np_out_kills_every_generation_when_the_pool_is_full() -> None:
    desk = Desk(ctx_size=512)
    tasks = desk.post(*(numbered(61, i) for i in range(4)), n_predict=300, stream=True)
    desk.run()
    for task in tasks:
        failed = desk.failed(task)
        assert (failed.status, failed.kind) == (500, "server_error")
        assert failed.message == "Context size has been exceeded."
    assert desk.happened(PoolFull)[0].n_tasks == 4
    assert desk.held == [0, 0, 0, 0]
    desk = Desk(ctx_size=512, parallel=4)
    tasks = desk.post(*(numbered(61, i) for i in range(4)), n_predict=300)
    desk.run()
    assert [desk.final(task).n_decoded for task in tasks] == [256 - 61] * 4


def test_c15_a_pool_full_of_idle_tokens_admits_a_request() -> None:
    desk = Desk(parallel=4, ctx_size=8192, kv_unified=True)
    desk.answer(numbered(6000), n_predict=1, id_slot=0)
    desk.answer(numbered(1500, 1), n_predict=1, id_slot=1)
    active = desk.ask(numbered(500, 2), n_predict=60, id_slot=2)
    desk.step(2)
    pool = desk.core.snapshot(desk.now).pool
    assert (pool.active, pool.cached, pool.free) == (501, 7500, 191)
    late = desk.ask(numbered(3000, 3), n_predict=5, id_slot=3)
    desk.run()
    assert [event.slot for event in desk.happened(Purged)] == [0]
    assert desk.final(active).n_decoded == 60
    assert desk.final(late).n_decoded == 5


@pytest.mark.parametrize(
    ("cache_ram", "after_two", "after_three"), [(0, [154, 124, 0], [0, 124, 254]), (8192, [0, 124, 0], [0, 0, 254])]
)
def test_c16_idle_slots_are_dropped_by_id_or_moved_to_ram_before(
    cache_ram: int, after_two: list[int], after_three: list[int]
) -> None:
    desk = Desk(parallel=3, kv_unified=True, ctx_size=512, cache_ram=cache_ram)
    desk.answer(numbered(150), n_predict=5, id_slot=0)
    desk.answer(numbered(120, 1), n_predict=5, id_slot=1)
    assert desk.held == after_two
    desk.answer(numbered(250, 2), n_predict=5, id_slot=2)
    assert desk.held == after_three
    assert bool(desk.log(containing="purging slot 0 with 154 tokens")) == (cache_ram == 0)


def test_c22_one_idle_slot_two_waiting_requests_and_nothing_moves() -> None:
    desk = Desk(parallel=2, ctx_size=2048)
    long = desk.ask(numbered(5), n_predict=500, id_slot=0)
    short = desk.ask(numbered(5, 1), n_predict=60, id_slot=1)
    desk.step(3)
    pinned = desk.ask(numbered(5, 2), n_predict=5, id_slot=0)
    free = desk.ask(numbered(5, 2), n_predict=5)
    desk.step(200)
    assert (desk.busy, desk.core.n_deferred) == ([0], 2)
    desk.run()
    assert desk.order_of_ends() == [short, long, pinned, free]
    assert [desk.final(task).slot for task in (pinned, free)] == [0, 0]


def test_c23_a_request_pinned_to_the_freed_slot_overtakes() -> None:
    desk = Desk(parallel=2, ctx_size=512)
    desk.ask(numbered(5), n_predict=200, id_slot=0)
    desk.ask(numbered(5, 1), n_predict=20, id_slot=1)
    desk.step(2)
    free, pinned = desk.ask(numbered(5, 2), n_predict=5), desk.ask(numbered(5, 3), n_predict=5, id_slot=1)
    desk.run()
    assert desk.order_of_ends().index(pinned) < desk.order_of_ends().index(free)


def test_c25_of_equally_unused_slots_the_highest_is_taken() -> None:
    desk = Desk(parallel=4, ctx_size=1024)
    assert [desk.answer(numbered(9, i), n_predict=1).slot for i in range(2)] == [3, 2]
    assert desk.log(containing="selected slot by LRU, t_last = -1")


def test_c26_families_need_all_their_slots_at_once() -> None:
    desk = Desk(parallel=4, ctx_size=1024)
    families = [desk.post(numbered(9, pin), n_predict=6, n_cmpl=3, id_slot=pin) for pin in (0, 3, 2, 1)]
    most = 0
    while desk.core.has_work:
        desk.step()
        most = max(most, len(desk.busy))
    assert most == 3
    for family in families:
        assert [len(desk.ends(task)) for task in family] == [1, 1, 1]
        assert all(desk.final(task).n_decoded == 6 for task in family)


def test_c29_an_erase_waits_for_a_busy_slot_and_counts_as_deferred() -> None:
    desk = Desk(parallel=1, ctx_size=256)
    desk.ask(numbered(51), n_predict=200)
    desk.step(2)
    erase = desk.act("erase", 0)
    desk.step(2)
    scrape = desk.core.scrape()
    assert (scrape.requests_processing, scrape.requests_deferred) == (1, 1)
    waiting = desk.core.snapshot(desk.now).waiting.requests
    assert waiting is not None
    assert [request.kind for request in waiting] == ["erase"]
    desk.run()
    assert desk.done(erase).n_tokens == 250


def test_c35_ids_out_of_range_wrap_and_the_answer_repeats_them() -> None:
    assert [Desk(parallel=4, ctx_size=1024).answer(numbered(5), n_predict=1, id_slot=pin).slot for pin in (7, -5)] == [
        3,
        3,
    ]
    desk = Desk(parallel=2, ctx_size=512)
    desk.answer([5], n_predict=1, id_slot=1)
    erase = desk.act("erase", 9)
    desk.run()
    assert (desk.done(erase).id_slot, desk.done(erase).n_tokens) == (9, 1)
    assert desk.held == [0, 0]


def test_c37_similarity_is_of_the_new_prompt_and_keep_of_the_old_one() -> None:
    desk = Desk(parallel=3, ctx_size=6144, cache_ram=8192)
    first, second = numbered(1000, 1), numbered(200, 2)
    desk.answer(first, n_predict=1, id_slot=0)
    desk.answer(second, n_predict=1, id_slot=1)
    desk.answer(first[:60] + [200] * 440, n_predict=1)
    chosen = desk.happened(SlotChosen)[-1]
    assert (chosen.slot, chosen.how) == (0, "lcp")
    assert chosen.similarity == pytest.approx(0.12)
    assert chosen.keep == pytest.approx(0.06)
    assert any("saving prompt with length 1000" in line for line in desk.log())
    desk.answer(second[:45] + [201] * 405, n_predict=1)  # exactly 0.10
    assert desk.happened(SlotChosen)[-1].how == "lru"


@pytest.mark.parametrize("context_shift", [False, True])
def test_c45_shifting_does_not_save_a_prompt_that_is_too_long(context_shift: bool) -> None:
    desk = Desk(parallel=1, ctx_size=256, context_shift=context_shift)
    if not context_shift:
        answers = [desk.answer(numbered(n, n), n_predict=4) for n in (254, 255)]
        assert [(answer.n_decoded, answer.truncated) for answer in answers] == [(2, True), (1, True)]
    for n in (256, 257):
        task = desk.ask(numbered(n, n), n_predict=4)
        desk.run()
        failed = desk.failed(task)
        assert (failed.status, failed.n_prompt, failed.n_ctx) == (400, n, 256)
        size = f"request ({n} tokens) exceeds the available context size (256 tokens)"
        assert failed.message == f"{size}, try increasing it"


def test_c46_an_endless_answer_is_a_saw_tooth() -> None:
    desk = Desk(parallel=1, ctx_size=256, context_shift=True)
    answer = desk.answer(numbered(200), n_predict=200)
    shifts = desk.happened(ContextShifted)
    assert [(shift.n_left, shift.n_discard) for shift in shifts] == [(255, 127)] * 2
    assert answer.n_cached_end == 145
    big = Desk(parallel=1, ctx_size=512, context_shift=True)
    big.answer(numbered(100), n_predict=420)
    assert [(shift.n_left, shift.n_discard) for shift in big.happened(ContextShifted)] == [(511, 255)]


def test_c47_without_shift_the_slot_fills_exactly() -> None:
    answer = Desk(parallel=2, ctx_size=512).answer(numbered(8), n_predict=-1)
    assert (answer.n_decoded, answer.truncated, answer.stop_type) == (248, True, StopType.LIMIT)
    assert Desk(parallel=2, ctx_size=512).answer([9]).n_decoded == 255


def test_c50_a_limit_of_zero_gives_one_token() -> None:
    answer = Desk(parallel=1, ctx_size=256).answer(numbered(8), n_predict=0)
    assert (answer.n_decoded, answer.stop_type) == (1, StopType.LIMIT)
