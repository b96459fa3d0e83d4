"""Scripted scenarios on llama-server b11434 and on `slotview serve`: every compared field is equal, or listed."""

from __future__ import annotations

import pytest

from . import cases
from .listed import ROUNDING, listed_keys
from .pairs import Pairs
from .scenario import ALL, DIFFERS, Scenario
from .servers import REAL, WHY_NOT

assert cases.__all__

ORDERED = sorted(ALL, key=lambda scenario: (scenario.flags, scenario.environment, not scenario.fresh))
MOST_LISTED = 10


@pytest.mark.llama_server
@pytest.mark.skipif(not REAL, reason=WHY_NOT)
@pytest.mark.parametrize("scenario", ORDERED, ids=lambda scenario: scenario.name)
def test_both_answer_the_same(scenario: Scenario, pairs: Pairs) -> None:
    result = pairs.run(scenario)
    unexpected = [line for line in result.differences if not (scenario.listed and DIFFERS in line)]
    assert not unexpected, "\n".join(["", *unexpected[:40]])
    assert result.differences or not scenario.listed, f"{scenario.listed} agree now: take them off the list"


def test_every_listed_difference_is_shown_by_a_scenario() -> None:
    keys = listed_keys()
    assert len(keys) == len(set(keys)) <= MOST_LISTED
    assert set(keys) == {ROUNDING, *(key for scenario in ALL for key in scenario.listed)}


def test_scenarios_have_names_of_their_own() -> None:
    names = [scenario.name for scenario in ALL]
    assert len(set(names)) == len(names) >= 60
