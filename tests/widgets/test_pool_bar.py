from slotview.engine.snapshot import KvPool, SlotState, SlotView
from slotview.widgets.pool_bar import PoolBar
from tests.widgets.host import drawn, hosting, screen_text
from tests.widgets.looks import attached, look, many, snapshot


def pool(of: KvPool, width: int = 78, slots: tuple[SlotView, ...] | None = (), height: int | None = None) -> str:
    return drawn(PoolBar(), look(snapshot(slots, pool=of)), width, height)


def test_a_unified_pool_is_one_bar_with_three_parts() -> None:
    bar, legend, meaning = pool(KvPool(True, 8192, (), 500, 7500)).splitlines()
    assert bar.count("█") == 76  # of 78: two cells are free
    assert legend == "■ active 500 (6 %) · ■ cached in idle slots 7 500 (92 %) · □ free 192 (2 %)"
    assert "dropped when room is needed" in meaning


def test_parts_have_their_own_tones() -> None:
    first = PoolBar().draw(look(snapshot((), pool=KvPool(True, 100, (), 50, 25))), 40, None)[0]
    assert first == (("█" * 20, "bar-generating"), ("█" * 10, "bar-cached"), (" " * 10, "track"))


def test_split_slots_have_a_bar_each() -> None:
    slots = (
        SlotView(0, SlotState.GENERATING, 100, n_tokens=100),
        SlotView(1, SlotState.IDLE, 100, n_tokens=50),
        SlotView(2, SlotState.UNUSED, 100),
        SlotView(3, SlotState.BUSY, 100),
    )
    bars = pool(KvPool(False, 400, (), 100, 50), 62, slots).splitlines()[0]
    assert bars == "0 ████████████  1 ██████        2               3 ?"


def test_many_split_slots_are_summed_up_and_it_says_split() -> None:
    text = pool(KvPool(False, 65536, (), 2000, 0), 78, many(64))
    assert "split: a full slot stops alone" in text
    assert text.splitlines()[0].startswith("█")


def test_an_unknown_size_is_shown_as_the_sizes_it_may_have() -> None:
    text = drawn(PoolBar(), look(attached()), 78)
    assert text.splitlines()[0].startswith("if 65 536 cells: █")
    assert text.splitlines()[1].startswith("if 131 072 cells: █")
    assert "free: unknown" in text
    assert "pool size unknown (65 536 or 131 072)" in text


def test_estimates_carry_a_mark() -> None:
    assert "active ≈ 1 077" in drawn(PoolBar(), look(attached()), 78)
    assert "≈" not in pool(KvPool(True, 8192, (), 500, 7500))


def test_nothing_told_is_not_an_empty_pool() -> None:
    text = pool(KvPool(why="pool: not told by this server"))
    assert text == "pool: not told by this server"


def test_shares_go_first_where_there_is_no_room_then_words_but_no_line_is_added_as_numbers_grow() -> None:
    legends = [pool(KvPool(True, 8192, (), 500, 7500), width).splitlines()[1] for width in (60, 52)]
    assert legends == [
        "■ active 500 · ■ cached in idle slots 7 500 · □ free 192",
        "■ active 500 · ■ cached 7 500 · □ free 192",
    ]


def test_two_lines_hold_the_bar_and_its_numbers() -> None:
    assert "free 192" in pool(KvPool(True, 8192, (), 500, 7500), 78, height=2).splitlines()[1]


async def test_the_border_names_mode_and_size() -> None:
    bar = PoolBar()
    async with hosting(bar) as pilot:
        bar.show(look(snapshot(pool=KvPool(True, 8192, (), 500, 7500, n_bytes=25_165_824))))
        await pilot.pause()
        assert "KV pool · unified · 8 192 cells · 24.0 MiB" in screen_text(pilot)
        bar.show(look(attached()))
        await pilot.pause()
        assert "unified" not in screen_text(pilot)
