import pytest

from slotview.widgets.base.bar import bar, parts_bar, shares
from slotview.widgets.base.line import Line, line_width


def filled(line: Line) -> str:
    return "".join(text for text, tone in line if tone != "track")


@pytest.mark.parametrize("fraction", [-1, 0, 0.0001, 0.3, 0.5, 0.999, 1, 7])
@pytest.mark.parametrize("width", [1, 4, 28])
def test_a_bar_never_leaves_its_width(fraction: float, width: int) -> None:
    assert line_width(bar(fraction, width, "generating")) == width


def test_a_bar_is_exact_to_an_eighth() -> None:
    assert filled(bar(0.5, 4, "generating")) == "██"
    assert filled(bar(3 / 32, 4, "generating")) == "▍"
    assert filled(bar(0, 4, "generating")) == ""
    assert filled(bar(0.0001, 4, "generating")) == "▏"  # a little is not nothing
    assert filled(bar(9, 4, "generating")) == "████"


def test_parts_stand_in_their_tones_and_the_rest_is_free() -> None:
    assert parts_bar([(500, "generating"), (7500, "cached")], 8192, 16) == (
        ("█", "bar-generating"),
        ("█" * 14, "bar-cached"),
        (" ", "track"),
    )


def test_parts_above_the_whole_leave_nothing_free() -> None:
    line = parts_bar([(2050, "error"), (0, "cached")], 2048, 10)
    assert line == (("█" * 10, "bar-error"),)


@pytest.mark.parametrize("width", [3, 7, 40])
def test_shares_fill_the_width_and_show_the_smallest(width: int) -> None:
    cells = shares([1, 100000, 1], width)
    assert sum(cells) == width
    assert min(cells) == 1


def test_nothing_at_all_is_free() -> None:
    assert shares([0, 0, 0], 9) == [0, 0, 9]
    assert shares([5, 5, 5, 5], 2).count(1) == 2
