"""Cells are handed out, shared, moved and given back as llama.cpp's cache does it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slotview.engine.context.kv_size import KvShape
from slotview.engine.slots.decode.ubatch import equal_parts, micro_batches
from slotview.engine.slots.kv.cache import KvCache
from tests.engine.slots.desk import plan_of
from tests.engine.stub_model import StubKv, StubModel

SHAPE = KvShape(1, 1, 1, 1)


def cache_of(n_slots: int = 2, n_ctx: int = 256, *, unified: bool = True, ubatch: int = 512) -> KvCache:
    plan = plan_of(ctx_size=n_ctx, parallel=n_slots, kv_unified=unified, ubatch=ubatch)
    return KvCache(plan, StubKv(plan.n_stream, plan.n_ctx_seq), SHAPE)


def cells(cache: KvCache, index: int) -> list[int]:
    sequence = cache.sequences[index]
    return [int(cell) for cell in sequence.cells[: sequence.n]]


def test_sequences_of_one_pool_take_neighbouring_cells_in_turn() -> None:
    cache = cache_of()
    assert cache.place([(0, 3), (1, 2)])
    assert cache.place([(0, 1), (1, 1)])
    assert cells(cache, 0) == [0, 1, 2, 5]
    assert cells(cache, 1) == [3, 4, 6]
    assert cache.sequences[0].start is None


def test_a_sequence_alone_lies_in_one_ascending_run() -> None:
    cache = cache_of()
    cache.place([(1, 4)])
    cache.place([(0, 3)])
    assert cache.sequences[0].start == 4
    cache.remove(0)
    assert cache.sequences[0].start is None


def test_the_head_goes_down_to_the_first_freed_cell() -> None:
    cache = cache_of()
    cache.place([(0, 10)])
    cache.place([(1, 10)])
    cache.remove(0, 4, -1)
    assert cache.streams[0].head == 4
    cache.place([(1, 8)])
    assert cells(cache, 1)[10:] == [4, 5, 6, 7, 8, 9, 20, 21]


def test_much_room_before_the_head_makes_the_search_start_at_zero() -> None:
    cache = cache_of()
    cache.place([(0, 100)])
    cache.place([(1, 4)])
    cache.streams[0].head = 104
    cache.remove(0)
    cache.streams[0].head = 104  # as if nothing had moved it: 104 > 4 + 2 · 1
    cache.place([(0, 1)])
    assert cells(cache, 0) == [0]


def test_the_search_wraps_around_and_takes_what_it_meets() -> None:
    cache = cache_of()
    cache.place([(0, 250)])
    cache.place([(1, 6)])
    cache.remove(0, 0, 3)
    cache.streams[0].head = 256
    cache.place([(1, 2)])
    assert cells(cache, 1)[6:] == [0, 1]


@pytest.mark.parametrize("unified", [True, False])
def test_a_call_without_room_for_all_changes_nothing(unified: bool) -> None:
    cache = cache_of(unified=unified, n_ctx=256 if unified else 512)
    cache.place([(0, 200)])
    cache.place([(1, 50)])
    heads = [stream.head for stream in cache.streams]
    assert not cache.place([(0, 30), (1, 230)])
    assert [stream.head for stream in cache.streams] == heads
    assert [sequence.n for sequence in cache.sequences] == [200, 50]
    cache.check()


@pytest.mark.parametrize("unified", [True, False])
def test_a_call_that_wants_nothing_gets_it(unified: bool) -> None:
    cache = cache_of(unified=unified)
    assert cache.place([])
    cache.check()


def test_single_tokens_without_room_for_all_change_nothing_in_any_stream() -> None:
    cache = cache_of(unified=False, n_ctx=512)
    cache.place([(1, 256)])
    assert not cache.place([(0, 1), (1, 1)])
    assert [sequence.n for sequence in cache.sequences] == [0, 256]
    cache.check()


def test_children_share_the_parents_cells_in_one_pool() -> None:
    cache = cache_of(3)
    cache.place([(0, 5)])
    cache.copy(0, 2)
    assert cells(cache, 2) == cells(cache, 0)
    assert cache.streams[0].used == 5
    cache.remove(0)
    assert cache.streams[0].used == 5
    cache.remove(2)
    assert cache.streams[0].used == 0


def test_children_get_a_copy_of_the_stream_in_split_mode() -> None:
    cache = cache_of(2, 512, unified=False)
    cache.place([(1, 3)])
    store = cache.store
    assert isinstance(store, StubKv)
    store.kept[1, :3] = [[7, 0], [8, 1], [9, 2]]
    cache.copy(1, 0)
    assert store.kept[0, :3].tolist() == [[7, 0], [8, 1], [9, 2]]
    assert cells(cache, 0) == [0, 1, 2]
    cache.check()


def test_moving_cells_of_another_sequence_too_copies_them_first() -> None:
    cache = cache_of(2)
    cache.place([(0, 6)])
    store = cache.store
    assert isinstance(store, StubKv)
    store.kept[0, :6] = [[10 + i, i] for i in range(6)]
    cache.copy(0, 1)
    cache.remove(1, 1, 3)
    assert cache.move(1, 3, 6, -2)
    cache.apply_shifts(StubModel())
    assert store.kept[0, cells(cache, 0)].tolist() == [[10 + i, i] for i in range(6)]
    assert store.kept[0, cells(cache, 1)].tolist() == [[10, 0], [13, 1], [14, 2], [15, 3]]
    cache.check()


def test_after_a_move_the_search_starts_at_the_first_cell() -> None:
    cache = cache_of(2)
    cache.place([(0, 6)])
    cache.place([(1, 40)])
    cache.remove(0)
    cache.remove(1, 1, 3)
    cache.streams[0].head = 46  # near enough to the 38 used cells to go on from there
    cache.move(1, 3, 40, -2)
    cache.place([(1, 4)])
    assert cells(cache, 1)[38:] == [0, 1, 2, 3]


def test_a_moved_cell_that_is_freed_is_not_rotated_later() -> None:
    cache = cache_of(2)
    cache.place([(0, 6)])
    store = cache.store
    assert isinstance(store, StubKv)
    store.kept[0, :6, 1] = range(6)
    cache.remove(0, 1, 3)
    cache.move(0, 3, 6, -2)
    cache.remove(0)
    cache.apply_shifts(StubModel())
    assert store.kept[0, :6, 1].tolist() == list(range(6))


def test_a_restored_sequence_stands_in_position_order_whatever_the_cells() -> None:
    cache = cache_of(2)
    cache.place([(0, 3)])
    store = cache.store
    assert isinstance(store, StubKv)
    store.kept[0, :3] = [[5, 0], [6, 1], [7, 2]]
    order, data = cache.read(0)
    assert cache.write(1, np.array([2, 0, 1]), data) == len(data)
    assert store.kept[0, cells(cache, 1), 0].tolist() == [6, 7, 5]
    assert order.tolist() == [0, 1, 2]


def test_split_batches_hold_equal_parts_of_neighbouring_slots() -> None:
    assert list(equal_parts([(0, 3), (1, 5), (3, 2)], 8)) == [[(0, 3), (1, 3)], [(1, 2)], [(3, 2)]]
    assert list(equal_parts([(0, 5), (1, 5)], 4)) == [[(0, 2), (1, 2)], [(0, 2), (1, 2)], [(0, 1), (1, 1)]]
    assert list(equal_parts([(0, 2), (1, 2)], 1)) == [[(0, 1), (1, 1)]] * 2
    assert list(equal_parts([(2, 2), (0, 2)], 8)) == [[(2, 2)], [(0, 2)]]


def test_batches_of_one_pool_are_cut_anywhere() -> None:
    assert list(micro_batches([(0, 3), (2, 5), (1, 1)], 4)) == [[(0, 3), (2, 1)], [(2, 4)], [(1, 1)]]
    assert list(micro_batches([(0, 4)], 4)) == [[(0, 4)]]
    assert list(micro_batches([], 4)) == []


def test_the_width_follows_the_highest_cell_in_steps_of_256() -> None:
    cache = cache_of(2, 1000)
    stream = cache.streams[0]
    assert stream.width == 256
    cache.place([(0, 256)])
    assert stream.width == 256
    cache.place([(1, 1)])
    assert stream.width == 512
    cache.place([(0, 300)])
    assert stream.width == 768
    cache.remove(0)
    assert stream.width == 512
    cache.place([(0, 3)])
    assert stream.width == 512
    cache.remove(1)
    assert stream.width == 256


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_no_cell_is_lost_or_owned_twice(data: st.DataObject) -> None:
    unified = data.draw(st.booleans())
    cache = cache_of(3, 256 if unified else 768, unified=unified, ubatch=data.draw(st.sampled_from([3, 16, 512])))
    slot = st.integers(0, 2)
    for _ in range(data.draw(st.integers(1, 25))):
        index = data.draw(slot)
        n = cache.sequences[index].n
        match data.draw(st.sampled_from(["place", "remove", "shift", "copy"])):
            case "place":
                wants = {i: data.draw(st.integers(1, 90)) for i in data.draw(st.sets(slot, min_size=1))}
                limit = len(cache.sequences[0].cells)
                cache.place([(i, k) for i, k in sorted(wants.items()) if cache.sequences[i].n + k <= limit])
            case "remove":
                cache.remove(index, data.draw(st.integers(0, 200)))
            case "shift":
                keep = data.draw(st.integers(0, 20))
                gap = data.draw(st.integers(1, 30))
                if keep + gap < n:
                    cache.remove(index, keep, keep + gap)
                    if not cache.move(index, keep + gap, n, -gap):
                        cache.remove(index)
            case "copy":
                other = data.draw(slot)
                if other != index:
                    cache.copy(index, other)
        cache.check()
