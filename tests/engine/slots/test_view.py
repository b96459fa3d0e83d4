"""What a watcher is shown."""

from __future__ import annotations

import numpy as np

from slotview.engine.slots.report.view import FREE, SHARED
from slotview.engine.snapshot import SlotState
from tests.engine.slots.desk import Desk, numbered


def test_a_context_that_was_rounded_is_told_as_asked_too() -> None:
    facts = [Desk(parallel=3, ctx_size=size).core.snapshot(0).facts for size in (4096, 4608)]
    assert [(each.n_ctx_asked, each.n_ctx) for each in facts] == [(4096, 4608), (None, 4608)]


def test_a_slot_before_during_and_after_its_task() -> None:
    desk = Desk(parallel=1, ctx_size=256, batch=20)
    views = []

    def look() -> None:
        slots = desk.core.snapshot(desk.now).slots
        assert slots is not None
        views.append(slots[0])

    look()
    task = desk.ask(numbered(30), n_predict=5)
    for _ in range(3):
        desk.step()
        look()
    desk.run()
    look()
    assert [view.state for view in views] == [
        SlotState.UNUSED,
        SlotState.PROMPT,
        SlotState.GENERATING,
        SlotState.GENERATING,
        SlotState.IDLE,
    ]
    assert [view.n_tokens for view in views] == [0, 20, 30, 31, 34]
    assert [view.n_prompt_processed for view in views] == [0, 20, 30, 30, 0]
    assert [view.n_decoded for view in views] == [0, 0, 1, 2, 0]
    assert [view.n_remain for view in views] == [None, 5, 4, 3, None]
    assert views[2].n_prompt == 30
    assert (views[2].truncated, views[2].state_word) == (False, None)
    assert views[3].prompt_seconds == 0.002
    assert views[3].generation_seconds == 0.001
    assert views[-1].task == task
    assert views[0].task is None


def test_between_begin_and_settle_the_token_list_is_ahead_of_the_counters() -> None:
    desk = Desk(parallel=1, ctx_size=256)
    desk.ask(numbered(30), n_predict=5)
    desk.core.begin(0)
    snapshot = desk.core.snapshot(0)
    assert snapshot.slots is not None
    assert (snapshot.slots[0].n_tokens, snapshot.slots[0].n_prompt_processed) == (30, 0)


def test_an_erased_slot_shows_that_it_is_empty() -> None:
    desk = Desk(parallel=1, ctx_size=256)
    desk.answer(numbered(9), n_predict=1)
    desk.core.snapshot(desk.now)
    desk.act("erase", 0)
    desk.run()
    snapshot = desk.core.snapshot(desk.now)
    assert snapshot.slots is not None
    assert snapshot.slots[0].n_tokens == 0
    assert snapshot.slots[0].state is SlotState.IDLE


def test_no_limit_is_told_as_such() -> None:
    desk = Desk(parallel=1, ctx_size=256)
    desk.ask(numbered(9))
    desk.step()
    snapshot = desk.core.snapshot(desk.now)
    assert snapshot.slots is not None
    assert snapshot.slots[0].unlimited
    assert snapshot.slots[0].n_remain is None


def test_the_pool_is_counted_in_cells() -> None:
    desk = Desk(parallel=2, ctx_size=512)
    desk.answer(numbered(9), n_predict=1, id_slot=0)
    desk.ask(numbered(20, 1), n_predict=9, id_slot=1)
    desk.step(3)
    pool = desk.core.snapshot(desk.now).pool
    assert (pool.cells, pool.active, pool.cached, pool.free) == (512, 22, 9, 512 - 31)
    assert not pool.estimated


def test_the_map_of_cells_names_owners_and_shared_cells() -> None:
    desk = Desk(parallel=3, ctx_size=256, kv_unified=True)
    desk.post(numbered(4), n_predict=5, n_cmpl=2)
    desk.step(2)
    (stream,) = desk.core.cells()
    assert stream.owner[:4].tolist() == [SHARED] * 4
    assert set(stream.sharers[0]) == set(desk.busy)
    assert sorted(stream.owner[4:6].tolist()) == desk.busy
    assert np.count_nonzero(stream.owner == FREE) == 250


def test_details_show_parameters_text_and_times() -> None:
    desk = Desk(parallel=1, ctx_size=256)
    assert "not run a task" in desk.core.details(0).note
    desk.ask("hello", n_predict=5, top_k=7)
    desk.step(3)
    details = desk.core.details(0)
    assert details.prompt == "hello"
    assert details.generated is not None
    assert len(details.generated) == 3
    assert details.params["top_k"] == 7
    assert details.params["n_predict"] == 5
    assert details.params["preserved_tokens"] == []
    assert not {"requested_n_predict", "preserved", "extra", "sampling"} & set(details.params), "names of requests only"
    assert details.timings["predicted_n"] == 3
    assert details.view == (desk.core.snapshot(desk.now).slots or ())[0]
    desk.run()
    after = desk.core.details(0)
    assert after.generated is not None
    assert len(after.generated) == 5


def test_has_next_token_is_left_as_the_last_token_left_it() -> None:
    desk = Desk(parallel=1, ctx_size=256)
    seen = [desk.core.slots[0].has_next_token]
    desk.answer(numbered(5), n_predict=2)
    seen.append(desk.core.slots[0].has_next_token)
    task = desk.ask(numbered(9, 1), n_predict=20)
    desk.step(2)
    desk.core.cancel(task)
    desk.run()
    seen.append(desk.core.slots[0].has_next_token)
    assert seen == [True, False, True]


def test_a_launch_shows_the_new_task_with_the_old_tokens() -> None:
    desk = Desk(parallel=2, ctx_size=512, batch=16)
    desk.answer(numbered(9), n_predict=1, id_slot=1)
    desk.ask(numbered(100, 1), n_predict=1, id_slot=0)
    task = desk.ask(numbered(5, 2), n_predict=1, id_slot=1)
    desk.step()
    slot = desk.core.slots[1]
    assert (slot.id_task, slot.n_tokens) == (task, 9)
