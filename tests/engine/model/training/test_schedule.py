"""The plan of the training steps."""

import pytest

from slotview.engine.model.training.schedule import Plan

PLAN = Plan(warmup=10, short=30, middle=30, long=60, mixed=80, peak=1e-3)


def test_rate_rises_holds_and_falls() -> None:
    rates = [PLAN.step(number).rate for number in range(PLAN.steps)]
    assert rates[:10] == sorted(rates[:10])
    assert set(rates[10:60]) == {1e-3}
    assert rates[60:] == sorted(rates[60:], reverse=True)
    assert rates[120] == pytest.approx(2e-3 / 3)
    assert 0 < rates[-1] < 1e-3 / 50


def test_lengths_grow_and_short_steps_stay() -> None:
    lengths = [PLAN.step(number).length for number in range(PLAN.steps)]
    assert set(lengths[:30]) == {512}
    assert set(lengths[30:60]) == {512, 2048}
    assert set(lengths[60:120]) == {512, 8192}
    assert lengths[120:].count(8192) == 5
