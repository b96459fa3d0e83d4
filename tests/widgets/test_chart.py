import pytest

from slotview.engine.observe.observation import Point
from slotview.widgets.base.line import Line, line_width
from slotview.widgets.chart import Chart, nice_top, sparkline
from tests.widgets.looks import NOW, history


def draw(
    points: tuple[Point, ...], width: int = 47, height: int = 5, *, area: bool = True, top: float | None = None
) -> list[str]:
    lines = Chart(lambda point: point.busy, "generating", area).draw(points, NOW, width, height, top)
    return ["".join(text for text, _ in line) for line in lines]


def flat(value: int | None, seconds: int = 120) -> tuple[Point, ...]:
    return tuple(Point(NOW - i, busy=value) for i in reversed(range(seconds)))


@pytest.mark.parametrize(("width", "height"), [(8, 2), (20, 3), (47, 5), (193, 20)])
def test_a_chart_fills_what_it_is_given(width: int, height: int) -> None:
    lines: list[Line] = Chart(lambda point: point.busy, "generating").draw(history(), NOW, width, height)
    assert len(lines) == height
    assert all(line_width(line) <= width for line in lines)


def test_scale_and_times_say_what_the_axes_are() -> None:
    rows = draw(flat(3), top=4)
    assert rows[0].startswith("     4 ")
    assert rows[3].startswith("     0 ")
    assert rows[4].strip().startswith("2 min ago")
    assert rows[4].rstrip().endswith("now")


def test_an_area_is_as_high_as_its_value() -> None:
    rows = [row[-1] for row in draw(flat(2), top=4)[:4]]
    assert rows == [" ", " ", "⣿", "⣿"]
    assert {row[-1] for row in draw(flat(4), top=4)[:4]} == {"⣿"}


def test_zero_is_drawn_by_a_line_and_empty_as_an_area() -> None:
    assert draw(flat(0), top=4)[3][-1] == " "
    assert draw(flat(0), top=4, area=False)[3][-1] == "⣀"


def test_unknown_is_a_gap_and_not_zero() -> None:
    points = (*flat(4)[:60], *(Point(NOW - i) for i in reversed(range(60))))
    bottom = draw(points, top=4, area=False)[0]
    assert bottom[8] != " "
    assert bottom[-1] == " "


def test_nothing_known_is_said() -> None:
    for points in ((), flat(None)):
        assert [line for line in draw(points) if line] == ["nothing measured yet"], "a scale would be read as a number"


def test_a_restart_is_marked_and_not_joined() -> None:
    points = tuple(Point(NOW - i, busy=4 if i <= 60 else 1, break_before=i == 60) for i in reversed(range(120)))
    rows = draw(points, top=4, area=False)
    where = rows[0].index("┊")
    assert all(row[where] == "┊" for row in rows[:4])
    assert not set(rows[1][where + 1 : where + 3]) - {" "}  # no stroke that joins 1 to 4


@pytest.mark.parametrize(
    ("value", "top"), [(0, 1), (0.3, 0.5), (4, 5), (50, 50), (51, 100), (1900, 2000), (5001, 10000)]
)
def test_scales_end_at_round_numbers(value: float, top: float) -> None:
    assert nice_top(value) == pytest.approx(top)


def test_a_sparkline_has_a_cell_for_each_value() -> None:
    assert sparkline([0, None, 5, 10, 20], 10) == "▁ ▅██"
