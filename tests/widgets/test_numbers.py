import pytest

from slotview.widgets.numbers import UNKNOWN, coarse, count, duration, percent, rate, size


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "–"), (0, "0"), (999, "999"), (1900, "1 900"), (51200, "51 200"), (1048576, "1 048 576")],
)
def test_counts_are_grouped_and_unknown_is_not_zero(value: float | None, shown: str) -> None:
    assert count(value) == shown


@pytest.mark.parametrize(
    ("value", "width", "shown"),
    [(131072, 7, "131 072"), (131072, 6, "131k"), (51200, 5, "51.2k"), (1048576, 6, "1.0M")],
)
def test_counts_that_do_not_fit_are_shortened_not_cut(value: int, width: int, shown: str) -> None:
    assert count(value, width) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(None, "–"), (0, "0.0"), (0.42, "0.42"), (12.34, "12.3"), (99.96, "100"), (1900, "1 900")]
)
def test_rates(value: float | None, shown: str) -> None:
    assert rate(value) == shown


@pytest.mark.parametrize("broken", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_number_is_unknown(broken: float) -> None:
    assert rate(broken) == count(broken) == duration(broken) == UNKNOWN


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(None, "–"), (-1, "0.0 s"), (0.44, "0.4 s"), (9.96, "10 s"), (37, "37 s"), (125, "2 m 05 s"), (3780, "1 h 03 m")],
)
def test_durations(seconds: float | None, shown: str) -> None:
    assert duration(seconds) == shown


@pytest.mark.parametrize(
    ("part", "whole", "shown"),
    [(None, 5, "–"), (1, None, "–"), (1, 0, "–"), (0, 5, "0 %"), (1, 1000, "< 1 %"), (3072, 34228, "9 %")],
)
def test_percent(part: float | None, whole: float | None, shown: str) -> None:
    assert percent(part, whole) == shown


@pytest.mark.parametrize(
    ("n_bytes", "shown"), [(None, "–"), (0, "0 B"), (1536, "1.5 KiB"), (25165824, "24.0 MiB"), (170 * 2**30, "170 GiB")]
)
def test_sizes(n_bytes: int | None, shown: str) -> None:
    assert size(n_bytes) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.9, "0 s"), (99.9, "99 s"), (100, "1 m"), (605, "10 m"), (6000, "1 h")]
)
def test_coarse_durations_fit_in_a_column(seconds: float, shown: str) -> None:
    assert coarse(seconds) == shown
