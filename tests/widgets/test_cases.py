"""Cases from the field that concern what is drawn; each is named after its number."""

import pytest
from rich.cells import cell_len

from slotview.engine.observe.observation import Observation, Point, SlotRate
from slotview.engine.snapshot import KvPool, ServerFacts, SlotState, SlotView, Totals, WaitingView
from slotview.engine.text.plain import plain
from slotview.widgets.header_bar import HeaderBar
from slotview.widgets.pool_bar import PoolBar
from slotview.widgets.slot_table import SlotTable
from slotview.widgets.waiting_panel import WaitingPanel
from tests.widgets.host import drawn, hosting, screen_strips, screen_text
from tests.widgets.looks import REMOTE_FACTS, attached, look, many, snapshot

ATTACK = "日本語 👩‍👩‍👧 \u202eRTL\u202c \x07 e\u0301 [bold red]x[/] \x1b[2J\x1b]0;t\x07"


async def rows(*slots: SlotView, rates: dict[int, SlotRate] | None = None, width: int = 100) -> list[str]:
    table = SlotTable()
    async with hosting(table, size=(width, 24)) as pilot:
        table.show(look(attached(slots), observation=Observation(rates or {})))
        await pilot.pause()
        return table.text.splitlines()[1:]


def test_c06_n_ctx_is_per_slot_and_the_pool_unknown() -> None:
    header = drawn(HeaderBar(), look(attached()), 118)
    assert "n_ctx per slot 65 536" in header
    assert "pool unknown (65 536 or 131 072)" in header
    assert "32 768" not in header  # neither divided
    assert "-c unknown" in header  # nor multiplied


def test_c13_a_pool_that_may_be_full_is_seen_although_no_slot_is() -> None:
    pool = KvPool(None, None, (2048, 8192), 2050, 0, estimated=True)
    text = drawn(PoolBar(), look(attached(pool=pool)), 78)
    assert "if 2 048 cells:" in text.splitlines()[0]
    assert text.splitlines()[0].endswith("more than it has")
    assert text.splitlines()[1].endswith("25 %")
    assert "≈ 2 050" in text
    tones = {tone for _, tone in PoolBar().draw(look(attached(pool=pool)), 78, None)[0]}
    assert "bar-error" in tones


def test_c15_reclaimable_tokens_are_not_a_full_pool() -> None:
    text = drawn(PoolBar(), look(snapshot(pool=KvPool(True, 8192, (), 500, 7500))), 78)
    assert "active 500 (6 %)" in text
    assert "free 192" in text
    assert "98 %" not in text


def test_c20_without_a_kv_metric_there_is_an_estimate_or_nothing_but_no_0_percent() -> None:
    estimate = KvPool(True, 8192, (), 1077, 0, estimated=True)
    assert "active ≈ 1 077" in drawn(PoolBar(), look(attached(pool=estimate)), 78)
    nothing = drawn(PoolBar(), look(attached(None, pool=KvPool(why="n/a: neither /slots nor /metrics"))), 78)
    assert nothing == "n/a: neither /slots nor /metrics"


def test_c32_a_queue_that_is_not_told_is_unknown() -> None:
    untold = attached(waiting=WaitingView(None, None, "unknown (start with --metrics)"))
    text = drawn(WaitingPanel(), look(untold), 78)
    assert "unknown" in text
    assert "start with --metrics" in text
    assert "0" not in text


async def test_c42_an_idle_slot_without_tokens_does_not_say_that_nothing_is_cached() -> None:
    (row,) = await rows(SlotView(0, SlotState.IDLE, 4096, 5, 0))
    assert row.split()[-1] == "–"
    assert "no endpoint reports them" in drawn(PoolBar(), look(attached()), 118)
    assert "cache-ram" not in drawn(PoolBar(), look(), 118)  # the embedded engine keeps nothing hidden


async def test_c46_endless_generation_never_exceeds_its_context() -> None:
    (row,) = await rows(SlotView(0, SlotState.GENERATING, 512, 3, 510, n_decoded=5100, unlimited=True))
    assert "510/512" in row
    assert "5 100" in row
    assert "no limit" in row
    (over,) = await rows(SlotView(0, SlotState.GENERATING, 512, 3, 900, n_decoded=5100, unlimited=True))
    full, beyond = (text.split("5 100")[0].count("█") for text in (row, over))
    assert beyond - full <= 1  # a full bar at most


def test_c46_a_saw_tooth_is_drawn_as_one() -> None:
    from slotview.widgets.chart import Chart

    teeth = tuple(Point(float(i), pool_used=i % 40) for i in range(120))
    lines = Chart(lambda point: point.pool_used, "generating").draw(teeth, 119.0, 67, 3, 40)
    top = "".join(text for text, _ in lines[0])[7:]
    assert len(top.split()) == 3  # three peaks with valleys between


async def test_c58_left_over_numbers_of_an_idle_slot_are_not_shown() -> None:
    (old,) = await rows(
        SlotView(0, SlotState.IDLE, 4096, 5, n_decoded=40, n_remain=88), rates={0: SlotRate(generation=9.9)}
    )
    assert old.split()[1:] == ["○", "idle", "5", "–/4", "096", "–", "–", "–", "–"]
    (new,) = await rows(SlotView(3, SlotState.IDLE, 1024, 13, 2, 0, 0, 0, 0))
    assert new.split()[-1] == "2"


@pytest.mark.parametrize("state", [SlotState.GENERATING, SlotState.BUSY])
async def test_c63_counts_that_are_not_told_are_unknown(state: SlotState) -> None:
    (row,) = await rows(SlotView(0, state, 2048, 1101, 565))
    assert row.split()[-4:] == ["–", "–", "–", "–"]


async def test_c64_unused_differs_from_idle_with_nothing() -> None:
    unused, erased = await rows(SlotView(0, SlotState.UNUSED, 131072), SlotView(1, SlotState.IDLE, 131072, 3, 0))
    assert "unused" in unused
    assert "–/131 072" in unused
    assert "idle" in erased
    assert "0/131 072" in erased


@pytest.mark.parametrize("n_tokens", [2560, 5120, 51200])
async def test_c69_a_prompt_of_unknown_length_has_no_percentage(n_tokens: int) -> None:
    slot = SlotView(0, SlotState.PROMPT, 131072, 9, n_tokens, n_prompt_processed=n_tokens, n_decoded=0)
    (row,) = await rows(slot, rates={0: SlotRate(prompt=1900.0)})
    assert "%" not in row
    assert f"{n_tokens:,}/131,072".replace(",", " ") in row
    assert "1 900" in row


async def test_c69_where_the_length_is_told_it_is_a_percentage() -> None:
    slot = SlotView(0, SlotState.PROMPT, 65536, 9, 3072, 34228, 3072, 0, 0)
    (row,) = await rows(slot)
    assert "prompt 9 %" in row


async def test_c70_the_answer_is_not_counted_twice() -> None:
    (row,) = await rows(SlotView(0, SlotState.GENERATING, 1024, 1, 23, n_prompt_processed=3, n_decoded=20))
    assert "23/1 024" in row
    assert "43" not in row


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
async def test_c71_hostile_text_is_inert_and_columns_stay_aligned(width: int) -> None:
    odd = SlotView(0, SlotState.BUSY, 256, 0, 38, state_word=ATTACK)
    facts = ServerFacts(source="http://h/" + ATTACK, model=ATTACK)
    table, header = SlotTable(), HeaderBar()
    async with hosting(table, header, size=(width, 24)) as pilot:
        for widget in (table, header):
            widget.show(look(attached((odd, SlotView(1, SlotState.IDLE, 256, 0, 38)), facts=facts)))
        await pilot.pause()
        strips, text = screen_strips(pilot), screen_text(pilot)
    assert not set(text) & set("\x07\x1b\u202e\u202c\u200d")
    assert {cell_len(strip.text) for strip in strips} == {width}
    hostile, calm = (cell_len(line[: line.index("38/256")]) for line in text.splitlines()[2:4])
    assert hostile == calm
    assert "日本語" in text


def test_c71_markup_in_notes_and_health_stays_text() -> None:
    pool = KvPool(why="[red]x[/] " + ATTACK)
    text = drawn(PoolBar(), look(attached(None, pool=pool)), 400)
    assert text == plain(pool.why or "")


async def test_c74_null_is_a_dash_and_arithmetic_skips_it() -> None:
    (row,) = await rows(
        SlotView(0, SlotState.GENERATING, 1024, None, None, n_decoded=None), rates={0: SlotRate(None, float("nan"))}
    )
    assert row.split() == ["0", "●", "generating", "–", "–/1", "024", "–", "–", "–", "–"]


async def test_c78_a_look_alikes_word_stands_and_no_n_ctx_means_no_bar() -> None:
    shown = await rows(
        SlotView(0, SlotState.BUSY, state_word="prefill"),
        SlotView(1, SlotState.IDLE, state_word="idle"),
        SlotView(2, SlotState.IDLE, 8192, n_tokens=4096),
    )
    assert "prefill" in shown[0]
    assert "█" not in shown[0] + shown[1]
    assert "/" not in shown[0] + shown[1]
    assert "█" in shown[2]
    assert "4 096/8 192" in shown[2]


async def test_c78_where_no_slot_tells_n_ctx_there_is_no_bar_column() -> None:
    (row,) = await rows(SlotView(0, SlotState.BUSY, n_tokens=77))
    assert "█" not in row
    assert "77" in row


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_c113_256_slots_scroll_and_busy_ones_come_first(size: tuple[int, int]) -> None:
    table = SlotTable()
    async with hosting(table, size=size) as pilot:
        table.show(look(snapshot(many(256))))
        await pilot.press("end")
        await pilot.pause()
        assert table.text.splitlines()[-1].split()[0] == "255"
        await pilot.press("b", "home")
        await pilot.pause()
        states = [line.split()[2] for line in table.text.splitlines()[1:]]
        assert set(states[: min(52, len(states))]) == {"generating"}
        assert "52 of 256 busy" in screen_text(pilot)


def test_c113_panels_take_256_slots_in_80_columns() -> None:
    of = look(snapshot(many(256), facts=REMOTE_FACTS, totals=Totals(busy_per_decode=51.2)))
    assert "-np 2" in drawn(HeaderBar(), of, 78)  # what the server says stands, whatever the table holds
    assert len(PoolBar().draw(of, 78, 6)) <= 6
