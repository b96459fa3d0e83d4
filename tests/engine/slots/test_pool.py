"""A unified pool that runs full (spec §3.3, §11.13)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from slotview.engine.events import Notice, PoolFull, Purged
from slotview.engine.slots.queue.task import Partial, StopType
from tests.engine.slots.desk import Desk, numbered
from tests.engine.stub_model import StubModel


def test_an_idle_slot_is_purged_before_the_batch_is_halved() -> None:
    desk = Desk(parallel=3, ctx_size=256, kv_unified=True)
    desk.answer(numbered(110), n_predict=10, id_slot=0)
    first = desk.ask(numbered(60, 1), n_predict=200, id_slot=1)
    second = desk.ask(numbered(60, 2), n_predict=200, id_slot=2)
    desk.run()
    assert [(event.slot, event.n_tokens) for event in desk.happened(Purged)] == [(0, 119)]
    warnings = desk.log(levels="W")
    purge = next(i for i, line in enumerate(warnings) if "purging slot 0 with 119 tokens" in line)
    assert "off = 0, n_batch = 256, ret = 1" in warnings[purge + 1]
    halved = [line.rsplit("n_batch = ", 1)[1] for line in warnings if "retrying with smaller batch size" in line]
    assert halved[1:9] == [f"{n}, ret = 1" for n in (128, 64, 32, 16, 8, 4, 2, 1)]
    assert [desk.failed(task).status for task in (first, second)] == [500, 500]
    assert desk.held == [0, 0, 0]


def test_an_output_that_got_a_part_of_its_prompt_ends_all_requests_when_it_goes_on() -> None:
    """Measured: the prompt of 250 is read in pieces of 128, and the child is given what is there after the first."""
    desk = Desk(parallel=2, ctx_size=512, kv_unified=True)
    desk.answer(numbered(300), n_predict=2, id_slot=0)
    parent, child = desk.post(numbered(250, 1), n_predict=3, n_cmpl=2, id_slot=1)
    desk.run()
    assert [desk.failed(task).message for task in (parent, child)] == ["Invalid input batch."] * 2
    assert desk.log(levels="E")[:3] == [
        """init: the tokens of sequence 0 in the input batch have inconsistent sequence positions:
 - the last position stored in the memory module of the context (i.e. the KV cache) for sequence 0 is X = 127
 - the tokens for sequence 0 in the input batch have a starting position of Y = 250
 it is required that the sequence positions remain consecutive: Y = X + 1""",
        "decode: failed to initialize batch",
        "srv        decode: Invalid input batch. off = 0, n_batch = 512, ret = -1",
    ]
    assert "slot 0 got only a part of a prompt" in desk.happened(Notice)[-1].text
    assert not desk.happened(PoolFull)
    assert desk.held == [0, 0]
    assert desk.answer(numbered(20, 2), n_predict=3, n_cmpl=2).n_decoded == 3


def test_an_output_that_got_a_part_of_its_prompt_may_sample_one_token() -> None:
    desk = Desk(parallel=2, ctx_size=512, kv_unified=True)
    desk.answer(numbered(300), n_predict=2, id_slot=0)
    tasks = desk.post(numbered(250, 1), n_predict=1, n_cmpl=2, id_slot=1)
    desk.run()
    assert [desk.final(task).timings.prompt_n for task in tasks] == [250, 128]
    assert desk.held == [0, 250]


def test_an_output_that_got_nothing_of_its_prompt_goes_on_behind_it() -> None:
    """Measured: the first piece is the prompt of 64, and nothing of the one of 128 is there for its child."""
    desk = Desk(StubModel(may_lack=128), parallel=4, ctx_size=256, kv_unified=True)
    desk.answer(numbered(150), n_predict=2, id_slot=1)
    tasks = desk.post(numbered(128, 2), numbered(64, 1), n_predict=3, n_cmpl=2)
    desk.run()
    assert [desk.final(task).timings.prompt_n for task in tasks] == [128, 0, 64, 64]
    assert [desk.final(task).n_decoded for task in tasks] == [3] * 4
    desk.answer(numbered(30, 7), n_predict=3, n_cmpl=4)
    assert sorted(desk.held) == [0, 0, 0, 32]


def test_the_log_of_a_full_pool_is_the_recorded_one() -> None:
    """Line by line what the server wrote for three requests of 62 tokens and a fourth one a step later."""
    desk = Desk(ctx_size=512)
    tasks = desk.post(*(numbered(62, i) for i in range(3)), n_predict=300)
    desk.step()
    tasks.append(desk.ask(numbered(62, 3), n_predict=300))
    desk.run()
    lines = [line for line in desk.log() if "cancel task" not in line]
    start = next(i for i, line in enumerate(lines) if line.startswith("decode: failed"))
    expected = [*tries(0, (4, 4, 4, 4, 4, 4, 4, 4, 2)), *tries(1, (3, 3, 3, 3, 3, 3, 3, 3, 2))]
    expected.append("decode: failed to find a memory slot for batch of size 1")
    expected.append("srv        decode: Context size has been exceeded. off = 1, n_batch = 1, ret = 1")
    for slot, task in enumerate((tasks[3], tasks[2], tasks[1], tasks[0])):
        n = 128 if slot == 0 else 129
        expected += [
            f"srv    send_error: task id = {task}, error: Context size has been exceeded.",
            f"slot      release: id  {slot} | task {task} | stop processing: n_tokens = {n}, truncated = 0",
            f"slot prompt_clear: id  {slot} | task -1 | clearing prompt with {n} tokens",
        ]
    expected.append("srv  update_slots: decode() failed: Context size has been exceeded.")
    assert lines[start : start + len(expected)] == expected
    assert desk.happened(PoolFull)[0].n_tasks == 4
    assert len(desk.log(containing="cancel task")) == 4  # once a request, for all its tasks


def tries(off: int, sizes: Sequence[int]) -> list[str]:
    lines = []
    for i, size in enumerate(sizes):
        lines.append(f"decode: failed to find a memory slot for batch of size {size}")
        wording = "failed to find free space in the KV cache, retrying with smaller batch size"
        lines.append(f"srv        decode: {wording}, off = {off}, n_batch = {256 >> i}, ret = 1")
    return lines


def test_half_a_prompt_that_fitted_says_nothing() -> None:
    desk = Desk(parallel=2, ctx_size=256, kv_unified=True)
    running = desk.ask(numbered(200), n_predict=50)
    desk.step(2)
    late = desk.ask(numbered(100, 1), n_predict=5, stream=True)
    desk.run()
    assert not desk.of(late, Partial)
    assert [desk.failed(task).status for task in (running, late)] == [500, 500]


def test_split_slots_never_run_the_pool_full() -> None:
    desk = Desk(parallel=4, ctx_size=1024)
    tasks = desk.post(*(numbered(100, i) for i in range(4)))
    desk.run()
    assert [desk.final(task).stop_type for task in tasks] == [StopType.LIMIT] * 4
    assert not desk.happened(PoolFull)


def test_those_who_wait_start_when_the_pool_killed_the_others() -> None:
    desk = Desk(parallel=2, ctx_size=256, kv_unified=True)
    killed = desk.post(numbered(120, 0), n_predict=100) + desk.post(numbered(120, 1), n_predict=100)
    waiting = desk.ask(numbered(20, 2), n_predict=5)
    desk.run()
    assert all(desk.failed(task).message == "Context size has been exceeded." for task in killed)
    assert desk.final(waiting).n_decoded == 5


@pytest.mark.parametrize("gives", [None, math.nan, math.inf])
def test_a_model_that_breaks_ends_the_running_tasks_and_the_core_goes_on(gives: float | None) -> None:
    class Fragile(StubModel):
        def forward(self, runs, kv):  # type: ignore[no-untyped-def]
            if self.n_forward == 3:
                self.n_forward += 1
                if gives is None:
                    raise FloatingPointError("overflow")
                return np.full((len(runs), self.n_vocab), gives, np.float32)
            return super().forward(runs, kv)

    desk = Desk(Fragile(), parallel=2, ctx_size=512)
    tasks = [desk.ask(numbered(5, i), n_predict=10) for i in range(2)]
    after = desk.ask(numbered(5, 3), n_predict=4)
    desk.run()
    assert {desk.failed(task).message for task in tasks} == {"Compute error."}
    assert ("overflow" if gives is None else "no numbers") in desk.happened(Notice)[0].text
    assert desk.final(after).n_decoded == 4


def test_a_slot_whose_scores_are_no_numbers_ends_alone() -> None:
    class Poisoned(StubModel):
        def forward(self, runs, kv):  # type: ignore[no-untyped-def]
            logits = super().forward(runs, kv)
            logits[[kv.kept[run.stream, run.cells, 0].max() > 90 for run in runs if run.wants_logits]] = math.nan
            return logits

    desk = Desk(Poisoned(allowed=range(50, 60)), parallel=4, ctx_size=512, kv_unified=True)
    sound = [desk.ask(numbered(5, i), n_predict=10) for i in range(2)]
    family = desk.post([1, 2, 95, 4], n_predict=10, n_cmpl=2)
    desk.run()
    assert desk.failed(family[0]).message == "Compute error."
    assert [len(desk.ends(task)) for task in family] == [1, 1]
    assert [desk.final(task).n_decoded for task in sound] == [10, 10]
    assert [slot.n_tokens for slot in desk.core.slots if slot.last_task in family] == [0, 0]
