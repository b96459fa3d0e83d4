"""The numbers in the questions about context division."""

import re
from random import Random

import pytest

from slotview.engine.model.training.division import division_question, slot_context


@pytest.mark.parametrize(
    ("total", "slots", "unified", "expected"),
    [
        (4096, 4, False, 1024),
        (4096, 4, True, 4096),
        (4096, 3, False, 1536),
        (1000, 3, False, 512),
        (1000, 3, True, 1024),
        (5000, 7, False, 768),
        (65536, 4, False, 8192),
        (512, 256, False, 256),
    ],
)
def test_slot_context(total: int, slots: int, unified: bool, expected: int) -> None:
    assert slot_context(total, slots, unified) == expected


def test_answers_use_the_numbers_of_the_question() -> None:
    rng = Random(1)
    for _ in range(500):
        question, answer = division_question(rng)
        asked = [int(number) for number in re.findall(r"\d+", question)]
        told = [int(number) for number in re.findall(r"\d+", answer)]
        total, slots = sorted(asked, reverse=True)
        assert {total, slots} <= set(told)
        assert told[-1] == slot_context(total, slots, "unified" in question)
