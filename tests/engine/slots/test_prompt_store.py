"""Old prompts in host RAM (spec §5.3, §11.24, 25)."""

from __future__ import annotations

from slotview.engine.context.kv_size import KvShape
from slotview.engine.slots.prompt.store import PromptStore
from tests.engine.slots.desk import Desk, numbered
from tests.engine.stub_model import StubModel

SMOL = KvShape(30, 3, 64, 64)


def store_of(desk: Desk) -> PromptStore:
    store = desk.core._state.store
    assert store is not None
    return store


def lengths(desk: Desk) -> list[int]:
    return [len(entry.tokens) for entry in store_of(desk).entries]


def unified(**given: object) -> Desk:
    return Desk(StubModel(kv_shape=SMOL), **({"ctx_size": 1024, "cache_ram": 8192} | given))


def test_an_entry_counts_the_bytes_the_server_counts() -> None:
    desk = unified(parallel=1, kv_unified=True)
    desk.answer(numbered(297), n_predict=4)
    desk.answer(numbered(20, 1), n_predict=1)
    assert store_of(desk).entries[0].n_bytes == 6_916_352


def test_idle_slots_are_published_and_emptied_in_unified_mode() -> None:
    desk = unified()
    desk.answer(numbered(18), n_predict=1)
    desk.ask(numbered(7, 1), n_predict=3)
    desk.step()
    assert sorted(desk.held) == [0, 0, 0, 7]
    assert lengths(desk) == [18]
    assert any("total state size = 0.396 MiB" in line for line in desk.log())


def test_idle_slots_are_only_copied_in_split_mode() -> None:
    desk = unified(parallel=2)
    desk.answer(numbered(18), n_predict=1)
    desk.answer(numbered(7, 1), n_predict=3)
    assert sorted(desk.held) == [9, 18]
    assert lengths(desk) == [18]


def test_publishing_can_be_switched_off() -> None:
    desk = unified(cache_idle_slots=False)
    desk.answer(numbered(18), n_predict=1)
    desk.answer(numbered(7, 1), n_predict=3)
    assert sorted(desk.held) == [0, 0, 9, 18]


def test_a_quarter_of_an_entry_is_enough_and_less_is_not() -> None:
    for shared, cached in ((9, 0), (10, 10)):
        desk = unified()
        desk.answer(numbered(40), n_predict=1)
        desk.answer(numbered(20, 1), n_predict=1)
        prompt = numbered(40)[:shared] + [99] * 20
        assert desk.answer(prompt, n_predict=1).timings.cache_n == cached


def test_a_state_above_the_limit_is_not_stored_and_the_prompt_is_gone() -> None:
    desk = unified(cache_ram=1)
    desk.answer(numbered(60), n_predict=1)
    desk.answer(numbered(5, 1), n_predict=1)
    assert any(
        "prompt state size 1.320 MiB exceeds cache size limit 1.000 MiB" in line for line in desk.log(levels="W")
    )
    assert lengths(desk) == []
    assert 60 not in desk.held


def test_of_three_prompts_two_fit_and_the_oldest_goes() -> None:
    desk = unified(cache_ram=1)
    for i in range(4):
        desk.answer(numbered(20, i), n_predict=1)
    assert lengths(desk) == [20, 20]
    assert [int(entry.tokens[0]) for entry in store_of(desk).entries] == [numbered(1, i)[0] for i in (1, 2)]
    assert any("removing oldest entry (size = 0.440 MiB)" in line for line in desk.log(levels="W"))


def test_without_a_limit_in_bytes_the_context_limits_the_tokens() -> None:
    desk = unified(cache_ram=-1, ctx_size=512)
    for i in range(4):
        desk.answer(numbered(180, i), n_predict=1)
    assert lengths(desk) == [180, 180]
    assert any("cache token limit (512, est: 512) reached" in line for line in desk.log(levels="W"))


def test_a_prompt_already_stored_is_not_stored_twice_and_a_longer_one_replaces_it() -> None:
    desk = unified(parallel=2, slot_prompt_similarity=0.0)
    desk.answer(numbered(30), n_predict=1)
    desk.answer(numbered(40, 1), n_predict=1)
    assert lengths(desk) == [30]
    desk.answer(numbered(20, 2), n_predict=1)
    assert lengths(desk) == [30, 40]
    assert any("prompt is already in the cache, skipping" in line for line in desk.log())
    desk.answer(numbered(41, 1), n_predict=1)
    desk.answer(numbered(5, 3), n_predict=1)
    assert 40 not in lengths(desk)
    assert any("removing obsolete cached prompt with length" in line for line in desk.log())


def test_an_entry_that_is_loaded_leaves_the_store_and_gives_the_same_text() -> None:
    desk = unified()
    first = desk.answer(numbered(40), n_predict=5)
    desk.answer(numbered(20, 1), n_predict=1)
    again = desk.answer(numbered(40), n_predict=5)
    assert again.timings.cache_n == 39
    assert again.text == first.text
    assert 44 not in lengths(desk)


def test_a_full_pool_keeps_the_entry_and_both_requests_end_with_the_pool() -> None:
    desk = unified(parallel=2, kv_unified=True, ctx_size=512)
    desk.answer(numbered(297), n_predict=4)
    busy = desk.ask(numbered(200, 1), n_predict=150)
    desk.step(61)
    assert lengths(desk) == [300]
    again = desk.ask([*numbered(297), 99, 98, 97, 96], n_predict=20)
    desk.run()
    assert any("failed to find 300 available cells in kv cache" in line for line in desk.log(levels="E"))
    assert any("failed to restore state with size 6916352" in line for line in desk.log(levels="E"))
    assert len(desk.log(levels="W", containing="| failed to load prompt from cache")) == 1
    assert [desk.failed(task).message for task in (busy, again)] == ["Context size has been exceeded."] * 2
    assert lengths(desk) == [300]
    alone = desk.answer([*store_of(desk).entries[0].tokens.tolist(), 99], n_predict=1)
    assert alone.timings.cache_n == 300


def test_memory_stays_within_the_limit_whatever_runs() -> None:
    desk = unified(cache_ram=2)
    for i in range(40):
        desk.answer(numbered(10 + i % 7, i), n_predict=1)
    assert store_of(desk).n_bytes <= 2 * 1024 * 1024
