"""Templates: choices, fields and the tidying of sentences."""

from random import Random

import pytest

from slotview.engine.model.training.grammar import expand, tidy


def test_choices_may_be_nested_and_empty() -> None:
    seen = {expand("a[ [big|small] {thing}|]", Random(seed), {"thing": "kite"}) for seed in range(40)}
    assert seen == {"a big kite", "a small kite", "a"}


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("a owl saw  a fox. it was a old fox.", "An owl saw a fox. It was an old fox."),
        ('"why?" asked tom. "may i come?"', '"Why?" asked tom. "May I come?"'),
        ('"thank you." then they left.', '"Thank you." Then they left.'),
        ("a unified pool", "A unified pool"),
    ],
)
def test_tidy(raw: str, clean: str) -> None:
    assert tidy(raw) == clean
