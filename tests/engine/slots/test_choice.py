"""Which slot a request gets (spec §5.2, §11.4, 6, 7, 21 to 23)."""

from __future__ import annotations

from typing import Any

import pytest

from slotview.engine.events import SlotChosen
from tests.engine.slots.desk import Desk, numbered


def slot_of(desk: Desk, prompt: list[int], **given: object) -> int:
    return desk.answer(prompt, n_predict=1, **given).slot


def test_fresh_slots_are_taken_from_the_highest_id_down() -> None:
    desk = Desk(parallel=4, ctx_size=1024)
    assert [slot_of(desk, numbered(5, i)) for i in range(4)] == [3, 2, 1, 0]


def test_without_similarity_slots_are_taken_in_turn() -> None:
    desk = Desk(parallel=3, ctx_size=768, slot_prompt_similarity=0.0)
    assert [slot_of(desk, numbered(5)) for _ in range(7)] == [2, 1, 0, 2, 1, 0, 2]


@pytest.mark.parametrize(
    ("n_slots", "pin", "slot"), [(2, 7, 1), (2, -5, 1), (3, -5, 2), (3, -2, 2), (3, 4, 1), (3, 3, 0)]
)
def test_pins_wrap_around(n_slots: int, pin: int, slot: int) -> None:
    desk = Desk(parallel=n_slots, ctx_size=256 * n_slots)
    assert slot_of(desk, numbered(5), id_slot=pin) == slot
    assert f"selected slot by id ({pin})" in desk.log()[0]


def test_half_a_prompt_in_common_is_not_above_a_threshold_of_half() -> None:
    desk = Desk(parallel=2, ctx_size=512, slot_prompt_similarity=0.5)
    assert slot_of(desk, numbered(10), id_slot=0) == 0
    assert slot_of(desk, numbered(5) + numbered(5, 1)) == 1


def test_more_than_the_threshold_in_common_goes_to_the_slot_that_holds_it() -> None:
    desk = Desk(parallel=2, ctx_size=512, slot_prompt_similarity=0.5)
    slot_of(desk, numbered(10), id_slot=0)
    assert slot_of(desk, numbered(6) + numbered(4, 1)) == 0
    assert desk.happened(SlotChosen)[-1].how == "lcp"
    text = "selected slot by LCP similarity, f_sim_best = 0.600 (> 0.500 thold), f_keep = 0.600"
    assert len(desk.log(containing=text)) == 1


def test_of_equal_slots_the_lower_id_wins() -> None:
    desk = Desk(parallel=3, ctx_size=768)
    slot_of(desk, numbered(10), id_slot=2)
    slot_of(desk, numbered(10), id_slot=1)
    assert slot_of(desk, numbered(10)) == 1


def test_an_empty_prompt_goes_to_the_least_recently_used_slot() -> None:
    desk = Desk(parallel=2, ctx_size=512)
    slot_of(desk, numbered(10), id_slot=1)
    desk.ask([])
    desk.run()
    assert desk.happened(SlotChosen)[-1].how == "lru"
    assert desk.happened(SlotChosen)[-1].slot == 0
    assert any("sim = -nan (0/0)" in line for line in desk.log())


def test_in_the_default_configuration_an_older_prompt_comes_back_from_ram_in_another_slot() -> None:
    desk = Desk(ctx_size=2048, cache_ram=8192)
    first = desk.answer(numbered(13), n_predict=1)
    desk.answer(numbered(20, 1), n_predict=1)
    assert desk.held[first.slot] == 0
    again = desk.answer([*numbered(13), 99], n_predict=1)
    assert (again.timings.cache_n, again.timings.prompt_n) == (13, 1)
    assert again.slot != first.slot


@pytest.mark.parametrize(("flags", "cached"), [({}, 0), ({"parallel": 4}, 13)])
def test_a_pinned_conversation_loses_its_cache_only_in_the_unified_pool(flags: dict[str, Any], cached: int) -> None:
    desk = Desk(ctx_size=2048, cache_ram=8192, **flags)
    desk.answer(numbered(13), n_predict=1, id_slot=0)
    other = numbered(6, 1)
    desk.answer(other, n_predict=1, id_slot=1)
    pinned = desk.answer([*numbered(13), 99], n_predict=1, id_slot=0)
    assert (pinned.timings.cache_n, pinned.timings.prompt_n) == (cached, 14 - cached)
    assert desk.answer(other, n_predict=1).timings.cache_n == 5


def test_pinning_to_a_busy_slot_leaves_the_running_request_alone() -> None:
    alone = Desk(parallel=2, ctx_size=512).answer("a story", n_predict=20)
    desk = Desk(parallel=2, ctx_size=512, cache_ram=8192)
    running = desk.ask("a story", n_predict=20, id_slot=0)
    desk.step(3)
    late = desk.ask("something else", n_predict=5, id_slot=0)
    desk.step()
    assert desk.core.n_deferred == 1
    desk.run()
    assert desk.final(running).text == alone.text
    assert desk.order_of_ends() == [running, late]


def test_a_pinned_empty_slot_never_asks_the_store() -> None:
    desk = Desk(parallel=2, ctx_size=512, cache_ram=8192)
    desk.answer(numbered(20), n_predict=1, id_slot=0)
    desk.answer(numbered(20, 1), n_predict=1, id_slot=0)  # swaps the first prompt out
    assert desk.answer(numbered(20), n_predict=1, id_slot=1).timings.cache_n == 0


def test_below_the_threshold_a_pinned_slot_is_copied_to_the_store_and_still_reused() -> None:
    desk = Desk(parallel=2, ctx_size=1024, cache_ram=8192)
    desk.answer(numbered(20), n_predict=1, id_slot=0)
    long = numbered(20) + numbered(300, 5)
    assert desk.answer(long, n_predict=1, id_slot=0).timings.cache_n == 20
    assert any("saving prompt with length 20" in line for line in desk.log())
