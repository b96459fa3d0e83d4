"""The plan of the training steps."""

import pytest

from slotview.engine.model.training.schedule import Plan

PLAN = Plan(warmup=10, tiny=30, short=30, middle=60, mixed=80, peak=1e-3)


def test_rate_rises_holds_and_falls() -> None:
    rates = [PLAN.step(number).rate for number in range(PLAN.steps)]
    assert rates[:10] == sorted(rates[:10])
    assert set(rates[10:120]) == {1e-3}
    assert rates[120:] == sorted(rates[120:], reverse=True)
    assert rates[160] == pytest.approx(1e-3 / 2)
    assert 0 < rates[-1] < 1e-3 / 50


def test_lengths_grow_and_short_steps_stay() -> None:
    lengths = [PLAN.step(number).length for number in range(PLAN.steps)]
    assert set(lengths[:30]) == {256}
    assert set(lengths[30:60]) == {512}
    assert set(lengths[60:120]) == {512, 2048}
    assert set(lengths[120:]) == {512, 8192}
    assert lengths[120:].count(8192) == 20
