"""Limits, reuse of the slot's own tokens, context shift (spec §6.2 to §6.7, §11.2, 3, 5, 11, 12, 28)."""

from __future__ import annotations

import pytest

from slotview.engine.events import ContextShifted, TaskEnded
from slotview.engine.slots.queue.task import Partial, StopType
from tests.engine.slots.desk import STEP_US, Desk, numbered
from tests.engine.stub_model import ByteTokenizer, StubModel


def test_a_run_without_limit_fills_the_slot() -> None:
    answer = Desk(parallel=2, ctx_size=512).answer(numbered(7), n_predict=-1)
    assert answer.n_decoded == 249
    assert answer.n_cached_end == 255
    assert answer.truncated
    assert answer.stop_type is StopType.LIMIT


def test_a_prompt_of_one_less_than_the_slot_gives_one_token() -> None:
    answer = Desk(parallel=2, ctx_size=512).answer(numbered(255))
    assert answer.n_decoded == 1
    assert answer.truncated


def test_a_prompt_as_long_as_the_slot_is_refused_with_both_numbers() -> None:
    desk = Desk(parallel=2, ctx_size=512)
    task = desk.ask(numbered(256))
    desk.run()
    failed = desk.failed(task)
    assert (failed.status, failed.kind) == (400, "exceed_context_size_error")
    assert (failed.n_prompt, failed.n_ctx) == (256, 256)
    wording = "exceeds the available context size (256 tokens), try increasing it"
    assert failed.message == f"request (256 tokens) {wording}"


@pytest.mark.parametrize(
    ("server", "asked", "n"), [(-1, 0, 1), (5, None, 5), (5, -1, 5), (5, 9, 9), (-1, 1, 1), (-2, None, 1), (0, None, 1)]
)
def test_a_requests_limit_goes_before_the_servers(server: int, asked: int | None, n: int) -> None:
    answer = Desk(parallel=1, ctx_size=256, n_predict=server).answer(numbered(5), n_predict=asked)
    assert answer.n_decoded == n
    assert answer.stop_type is StopType.LIMIT
    assert not answer.truncated


def test_what_is_told_of_a_tasks_end() -> None:
    desk = Desk(parallel=1, ctx_size=256)
    desk.answer(numbered(10), n_predict=1)
    desk.answer(numbered(254), n_predict=9)
    ended = desk.now / 1e6
    refused = desk.ask(numbered(300))
    desk.run()
    _, full, failed = desk.happened(TaskEnded)
    told = (full.reason, full.n_prompt, full.n_cached, full.n_decoded, full.truncated, full.error)
    assert told == ("limit", 254, 10, 2, True, None)
    assert full.time == ended
    assert (full.prompt_seconds, full.generation_seconds) == (STEP_US / 1e6, STEP_US / 1e6)
    assert (failed.task, failed.reason, failed.error) == (refused, "error", desk.failed(refused).message)


def test_a_repeated_prompt_computes_its_last_token_only_and_warns_twice() -> None:
    desk = Desk(parallel=1, ctx_size=256)
    first = desk.answer(numbered(9), n_predict=4)
    again = desk.answer(numbered(9), n_predict=4)
    assert (again.timings.cache_n, again.timings.prompt_n) == (8, 1)
    assert again.text == first.text
    warnings = desk.log(levels="W")
    assert "need to evaluate at least 1 token for each active slot (n_past = 9, task.n_tokens() = 9)" in warnings[0]
    assert "n_past was set to 8" in warnings[1]


def test_a_repeated_prompt_of_one_token_is_computed_again_without_a_word() -> None:
    desk = Desk(parallel=1, ctx_size=256)
    desk.answer([50], n_predict=4)
    again = desk.answer([50], n_predict=4)
    assert (again.timings.cache_n, again.timings.prompt_n) == (0, 1)
    assert not desk.log(levels="W")


def test_cache_prompt_off_starts_at_zero() -> None:
    desk = Desk(parallel=1, ctx_size=256)
    desk.answer(numbered(9), n_predict=4)
    assert desk.answer(numbered(9), n_predict=4, cache_prompt=False).timings.cache_n == 0


def test_a_prolonged_prompt_computes_the_new_part_only() -> None:
    desk = Desk(parallel=1, ctx_size=256)
    first = desk.answer(numbered(9), n_predict=4)
    longer = [*numbered(9), *first.text.encode(), 50, 51]
    answer = desk.answer(longer, n_predict=4)
    assert answer.timings.cache_n == 12  # the last sampled token was never fed
    assert answer.text == Desk(parallel=1, ctx_size=256).answer(longer, n_predict=4).text


def test_an_empty_prompt_ends_at_once_and_keeps_what_the_slot_held() -> None:
    desk = Desk(parallel=1, ctx_size=256)
    desk.answer(numbered(9), n_predict=4)
    empty = desk.answer([])
    assert empty.stop_type is StopType.NONE
    assert (empty.text, empty.n_decoded, empty.n_cached_end) == ("", 0, 12)
    assert empty.timings.prompt_us == empty.timings.predicted_us == 0
    assert any("empty prompt - releasing slot" in line for line in desk.log(levels="W"))


def test_children_of_an_empty_prompt_have_empty_answers_too() -> None:
    desk = Desk(parallel=2, ctx_size=512)
    tasks = desk.post([], n_cmpl=2)
    desk.run()
    assert [(desk.final(task).text, desk.final(task).stop_type) for task in tasks] == [("", StopType.NONE)] * 2


def test_tokens_outside_the_vocabulary_are_refused() -> None:
    desk = Desk(parallel=1, ctx_size=256)
    task = desk.ask([3, 256])
    desk.run()
    assert (desk.failed(task).status, desk.failed(task).message) == (400, "Prompt contains invalid tokens")
    assert any(f"failed to launch slot with task, id_task = {task}" in line for line in desk.log(levels="E"))


def test_a_sampler_that_cannot_be_built_is_told_by_its_reason() -> None:
    desk = Desk(parallel=3, ctx_size=768)
    task = desk.ask(numbered(3), repeat_penalty=0.0)
    family = desk.post(numbered(3), repeat_penalty=0.0, n_cmpl=3)
    desk.run()
    reason = "Failed to initialize samplers: penalty_repeat must be finite and greater than 0"
    assert desk.failed(task).message == reason
    assert desk.failed(family[1]).message == reason
    assert desk.failed(family[0]).cancelled
    assert desk.failed(family[2]).cancelled
    lines = desk.log(levels="E", containing=f"parent task, id_task = {family[0]}")
    assert len(lines) == 1


@pytest.mark.parametrize(
    ("n_prompt", "given", "first_shift", "n_left_at_end"),
    [
        (201, {"n_keep": 10}, (10, 245, 122), 228),
        (201, {"n_keep": -1, "n_discard": 7}, (201, 54, 7), 252),
        (201, {"n_keep": -1}, (201, 54, 27), None),
        (200, {"n_keep": 0}, (0, 255, 127), None),
        (200, {"n_keep": 254}, (252, 3, 1), None),
        (200, {"n_keep": 1000}, (252, 3, 1), None),
        (200, {"n_keep": 100, "n_discard": 1000}, (100, 155, 154), None),
    ],
)
def test_context_shift_discards_the_documented_tokens(
    n_prompt: int, given: dict[str, int], first_shift: tuple[int, int, int], n_left_at_end: int | None
) -> None:
    desk = Desk(parallel=2, ctx_size=512, context_shift=True)
    answer = desk.answer(numbered(n_prompt), n_predict=150, **given)
    shift = desk.happened(ContextShifted)[0]
    assert (shift.n_keep, shift.n_left, shift.n_discard) == first_shift
    assert answer.n_decoded == 150
    assert answer.truncated
    if n_left_at_end is not None:
        assert answer.n_cached_end == n_left_at_end


def test_a_model_that_adds_a_beginning_keeps_one_token_more() -> None:
    model = StubModel(tokenizer=ByteTokenizer(add_bos=True))
    desk = Desk(model, parallel=1, ctx_size=256, context_shift=True)
    desk.answer(numbered(200), n_predict=60, n_keep=10)
    assert desk.happened(ContextShifted)[0].n_keep == 11


def test_the_largest_prompt_shifts_before_its_second_token() -> None:
    desk = Desk(parallel=1, ctx_size=256, context_shift=True)
    answer = desk.answer(numbered(255), n_predict=3)
    assert answer.n_decoded == 3
    assert len(desk.happened(ContextShifted)) == 1


def test_a_shifted_slot_is_reused_by_what_it_holds_now() -> None:
    desk = Desk(parallel=1, ctx_size=256, context_shift=True)
    desk.answer(numbered(200), n_predict=70, n_keep=10)
    held = desk.core.slots[0].held.tolist()
    assert desk.answer([*held, 44], n_predict=1).timings.cache_n == len(held)


def test_a_family_is_never_shifted() -> None:
    desk = Desk(parallel=2, ctx_size=512, context_shift=True)
    tasks = desk.post(numbered(250), n_predict=50, n_cmpl=2)
    desk.run()
    errors = [desk.failed(task) for task in tasks]
    assert {error.message for error in errors if not error.cancelled} == {
        "context shift cannot be used for shared prompt"
    }
    assert all(error.status == 500 for error in errors if not error.cancelled)


def test_chunks_are_reused_where_they_moved_to() -> None:
    desk = Desk(parallel=1, ctx_size=256)
    old = list(range(1, 61))
    desk.answer(old, n_predict=1)
    new = old[:10] + old[20:40] + [200, 201, 202, 203, 204] + old[45:60] + [210]
    answer = desk.answer(new, n_predict=3, n_cache_reuse=8)
    assert answer.timings.cache_n == 30
    assert answer.text == Desk(parallel=1, ctx_size=256).answer(new, n_predict=3).text
    moved = "reusing chunk with size 20, shifting KV cache [20, 40) -> [10, 30)"
    assert any(moved in line for line in desk.log())


def test_a_prompt_that_is_a_chunk_computes_one_token() -> None:
    desk = Desk(parallel=1, ctx_size=256)
    desk.answer(list(range(1, 61)), n_predict=1)
    answer = desk.answer(list(range(21, 51)), n_predict=1, n_cache_reuse=8)
    assert answer.timings.cache_n == 29
    assert len(desk.log(levels="W")) == 2


def test_chunk_reuse_beside_children_that_share_the_cells_changes_nothing_for_them() -> None:
    def run(n_cache_reuse: int) -> list[str]:
        desk = Desk(parallel=3, ctx_size=1024, kv_unified=True)
        old = list(range(1, 61))
        parent, child = desk.post(old, n_predict=3, n_cmpl=2)
        desk.step(1)
        desk.core.cancel(parent)
        desk.step(1)
        (slot,) = [slot.id for slot in desk.core.slots if slot.last_task == parent]
        task = desk.ask(old[30:60], id_slot=slot, n_predict=5, n_cache_reuse=n_cache_reuse)
        desk.run()
        assert desk.final(task).timings.cache_n == (29 if n_cache_reuse else 0)
        return [desk.final(child).text, desk.final(task).text]

    assert run(8) == run(0)


def test_sampling_goes_by_slot_whatever_the_order_in_the_batch() -> None:
    desk = Desk(parallel=3, ctx_size=768)
    old = desk.ask(numbered(5), n_predict=30, id_slot=2, stream=True)
    desk.step(2)
    new = desk.ask(numbered(5, 1), n_predict=30, id_slot=0, stream=True)
    desk.results.clear()
    desk.step(2)
    assert [result.task for result in desk.results if isinstance(result, Partial)] == [new, old, new, old]


def test_a_child_in_a_lower_slot_speaks_before_its_parent() -> None:
    desk = Desk(parallel=3, ctx_size=768)
    parent, *children = desk.post(numbered(5), n_predict=3, n_cmpl=3, stream=True)
    desk.step()
    said = [result.task for result in desk.results if isinstance(result, Partial)]
    assert said == [*children, parent]


def test_times_follow_the_documented_formulas() -> None:
    desk = Desk(parallel=1, ctx_size=256, batch=20)
    busy = desk.ask(numbered(5), n_predict=3)
    waited = desk.ask(numbered(50, 1), n_predict=4)
    desk.run()
    assert desk.final(busy).timings.prompt_us == 1000
    timings = desk.final(waited).timings
    assert (timings.prompt_us, timings.predicted_us) == (3000, 3000)  # three batches; the queue does not count
    one = desk.answer(numbered(5, 3), n_predict=1)
    assert one.timings.predicted_us == 1
