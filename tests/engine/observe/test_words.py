"""Numbers and lists in words."""

from __future__ import annotations

import pytest

from slotview.engine.observe.words import count, duration, ids, percent
from slotview.engine.text.plural import plural

from .polls import idle


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.9, "0 s"),
        (119.9, "119 s"),
        (120, "2 m"),
        (125, "2 m 5 s"),
        (599, "9 m 59 s"),
        (605, "10 m"),
        (7199, "119 m"),
        (7200, "2 h"),
        (7260, "2 h 1 m"),
    ],
)
def test_long_durations_are_coarser(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ([3], "slot 3"),
        ([3, 0, 1], "slots 0, 1, 3"),
        (range(4), "slots 0, 1, 2, 3"),
        (range(6), "slots 0, 1, 2, 3 and 2 more"),
    ],
)
def test_many_slots_are_counted(numbers: list[int], words: str) -> None:
    assert ids(idle(number) for number in numbers) == words


def test_numbers() -> None:
    assert (count(51200), count(999), plural(1, "slot"), plural(1200, "slot")) == (
        "51 200",
        "999",
        "1 slot",
        "1 200 slots",
    )
    assert [percent(share) for share in (0, 0.28, 0.999, 1, 1.2)] == ["0 %", "28 %", "99 %", "100 %", "120 %"]
