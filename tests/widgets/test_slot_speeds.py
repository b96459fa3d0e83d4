import pytest

from slotview.widgets.speed_chart import SpeedChart
from tests.widgets.host import drawn
from tests.widgets.looks import look, many, snapshot


def test_slots_take_more_lines_where_a_panel_is_high_and_stand_in_columns() -> None:
    slots = many(32)
    lines = drawn(SpeedChart(), look(snapshot(slots)), 44, 28).splitlines()
    shown = [line.removeprefix("by slot: ") for line in lines[-7:]]
    assert [line.split()[0] for line in shown] == [str(slot.id) for slot in slots if slot.is_busy]
    assert len({len(line) for line in lines[-7:]}) == 1, "one below the other"


@pytest.mark.parametrize("width", [38, 42, 64, 78])
def test_more_slots_than_fit_are_counted(width: int) -> None:
    slots = many(256)
    last = drawn(SpeedChart(), look(snapshot(slots)), width, 7).splitlines()[-1]
    shown = last.removesuffix(" more")
    assert shown != last, "the number is not cut off"
    n_busy = sum(slot.is_busy for slot in slots)
    assert n_busy - 4 <= int(shown.split()[-1]) < n_busy
