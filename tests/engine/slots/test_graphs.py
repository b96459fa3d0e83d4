"""How often the graph of a micro-batch is that of the one before."""

from __future__ import annotations

import pytest

from slotview.engine.context.kv_size import KvShape
from slotview.engine.slots.decode.graphs import Graphs
from slotview.engine.slots.kv.cache import KvCache
from slotview.engine.slots.slot import Slot
from tests.engine.slots.desk import plan_of
from tests.engine.stub_model import StubKv

SHAPE = KvShape(1, 1, 1, 1)


class Desk:
    """A cache whose steps are counted."""

    def __init__(self, *, unified: bool, ubatch: int = 512) -> None:
        plan = plan_of(ctx_size=2048, parallel=4, kv_unified=unified, ubatch=ubatch)
        self.cache = KvCache(plan, StubKv(plan.n_stream, plan.n_ctx_seq), SHAPE)
        self.slots = [Slot(i, 512, sequence) for i, sequence in enumerate(self.cache.sequences)]
        self.graphs = Graphs(self.cache, 0)

    def step(self, *wants: tuple[int, int, bool]) -> int:
        """Place (slot, n tokens, logits wanted); returns how many graphs it used again."""
        before = self.graphs.reused
        assert self.cache.place([(index, n) for index, n, _ in wants])
        self.graphs.count([(self.slots[index], 0, n, logits, False) for index, n, logits in wants])
        return self.graphs.reused - before


@pytest.mark.parametrize("unified", [True, False])
def test_steps_that_are_alike_share_a_graph(unified: bool) -> None:
    desk = Desk(unified=unified)
    assert desk.step((0, 2, True)) == 1  # as the server's own at its start
    assert desk.step((0, 1, True)) == 0
    assert desk.step((0, 1, True)) == 1
    assert desk.step((0, 1, False)) == 0
    assert desk.step((1, 1, False)) == int(unified)


def test_slots_that_are_no_neighbours_need_graphs_of_their_own() -> None:
    desk = Desk(unified=False)
    for expected in (0, 1):
        assert desk.step((0, 1, True), (1, 1, True)) == expected
    for _ in range(2):
        assert desk.step((0, 1, True), (2, 1, True)) == 0


def test_a_graph_holds_for_so_many_cells() -> None:
    desk = Desk(unified=True, ubatch=64)
    assert desk.step((0, 256, False)) == 3
    assert desk.step((0, 64, False)) == 0
    assert desk.step((0, 128, True)) == 1
    assert desk.step((0, 128, True)) == 0  # its first half gives no logits, unlike what was before


def test_moved_cells_need_a_graph_in_between() -> None:
    desk = Desk(unified=True)
    desk.step((0, 10, True))
    desk.step((0, 1, True))
    desk.cache.remove(0, 2, 4)
    desk.cache.move(0, 4, 11, -2)
    assert desk.step((0, 1, True)) == 0
    assert desk.step((0, 1, True)) == 1
