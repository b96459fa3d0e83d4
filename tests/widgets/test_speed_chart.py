import pytest
from msgspec.structs import replace

from slotview.engine.observe.observation import Observation
from slotview.engine.snapshot import Totals
from slotview.widgets.look import NO_LOOK, Look
from slotview.widgets.speed_chart import SpeedChart
from tests.widgets.host import drawn
from tests.widgets.looks import attached, history, look


def test_wide_charts_stand_side_by_side_with_units_and_scales() -> None:
    lines = drawn(SpeedChart(), look(), 78, 7).splitlines()
    assert "generation 24.2 tok/s, all slots" in lines[0]
    assert "prompts 1 900 tok/s, all slots" in lines[0]
    assert lines[1].split()[0] == "50"
    assert "2 000" in lines[1]
    assert lines[5].count("2 min ago") == 2


def test_a_speed_that_leaves_out_the_ends_of_tasks_is_a_lower_bound() -> None:
    known = look()
    seen = replace(known.observation, generation_at_least=True, prompt_at_least=True)
    line = drawn(SpeedChart(), replace(known, observation=seen), 78, 7).splitlines()[0]
    assert "generation ≥ 24.2 tok/s" in line
    assert "prompts ≥ 1 900 tok/s" in line


def test_narrow_charts_stand_one_above_the_other() -> None:
    lines = drawn(SpeedChart(), look(), 42, 14).splitlines()
    assert "generation" in lines[0]
    assert "prompts" in lines[7 - 1] + lines[7]


def test_each_busy_slot_has_its_own_speed() -> None:
    last = drawn(SpeedChart(), look(), 118, 7).splitlines()[-1]
    assert last.startswith("by slot: 0 ")
    assert "12.3" in last
    assert "11.9" in last


def test_speeds_that_are_not_known_are_not_zero() -> None:
    text = drawn(SpeedChart(), NO_LOOK, 78, 9)
    assert "generation – tok/s" in text
    assert text.count("nothing measured yet") == 2


def test_where_the_slots_are_not_shown_the_average_of_a_request_is_all_that_is_known() -> None:
    snapshot = attached(None, totals=Totals(predicted_tokens=1600, predicted_seconds=92.4))
    text = drawn(SpeedChart(), Look(snapshot), 78, 9)
    assert text.count("unknown without the slots") == 2
    assert "17.3 tok/s per request since it started" in text
    assert "per request" not in drawn(SpeedChart(), Look(attached()), 78, 9)


@pytest.mark.parametrize("height", [1, 2, 4, 6, 30])
@pytest.mark.parametrize("width", [24, 72, 198])
def test_any_size_is_filled_and_not_exceeded(width: int, height: int) -> None:
    of = look(observation=Observation(history=history(unknown=range(30, 50))))
    assert 0 < len(SpeedChart().draw(of, width, height)) <= height
