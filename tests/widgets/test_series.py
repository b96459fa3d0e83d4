from slotview.engine.observe.observation import Point
from slotview.widgets.series import WINDOW, Series

N = 60  # steps of two seconds


def values(points: list[Point], now: float, series: Series | None = None) -> list[float | None]:
    series = series or Series(lambda point: point.busy)
    return [column.value for column in series.columns(points, now, N)]


def test_a_step_is_the_mean_of_what_was_known_in_it() -> None:
    points = [Point(100.0, busy=1), Point(100.5, busy=3), Point(101.0, busy=None)]
    assert values(points, 101.0)[-1] == 2


def test_old_points_leave_at_the_left_and_later_ones_do_not_show() -> None:
    points = [Point(100.0 + i, busy=i) for i in range(300)]
    shown = values(points, 399.0)
    assert shown[0] == 180.5
    assert shown[-1] == 298.5
    assert len([value for value in values(points, 99.0) if value is not None]) == 0


def test_steps_keep_their_values_while_time_goes_on() -> None:
    series = Series(lambda point: point.busy)
    points = [Point(100.0 + i, busy=i % 5) for i in range(110)]
    before = values(points, 209.0, series)
    after = values([*points, Point(210.0, busy=4)], 210.0, series)
    assert before[1:] == after[:-1]


def test_a_gap_stays_a_gap_and_a_slow_pace_is_no_gap() -> None:
    def last(points: list[Point]) -> list[float | None]:
        return [column.value for column in Series(lambda point: point.busy).columns(points, 108.0, 120)][-9:]

    assert last([Point(100.0, busy=1), Point(102.0, busy=1), Point(108.0, busy=2)]) == [
        1,
        1,
        1,
        None,
        None,
        None,
        None,
        None,
        2,
    ]
    assert last([Point(100.0, busy=1), Point(102.0, busy=2, break_before=True)])[:3] == [1, None, 2]


def test_a_new_history_begins_again() -> None:
    series = Series(lambda point: point.busy)
    values([Point(500.0, busy=4)], 500.0, series)
    shown = values([Point(3.0, busy=1)], 3.0, series)
    assert [value for value in shown if value is not None] == [1]
    assert values([], 3.0, series) == [None] * N


def test_what_is_kept_does_not_grow() -> None:
    series = Series(lambda point: point.busy)
    for start in range(0, 5000, 50):
        values([Point(float(start + i), busy=1) for i in range(50)], start + 49.0, series)
    assert len(series._columns) <= N
    assert WINDOW == 120
