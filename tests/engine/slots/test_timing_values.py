"""Times of an answer as they go over the wire (spec §7.11)."""

from __future__ import annotations

from slotview.engine.slots.queue.task import Timings
from slotview.engine.slots.report.timing_lines import timing_lines
from slotview.engine.slots.report.timing_values import timing_values


def test_rates_follow_from_times_and_the_first_token_is_free() -> None:
    assert timing_values(Timings(cache_n=4, prompt_n=6, prompt_us=1600, predicted_n=5, predicted_us=2560)) == {
        "cache_n": 4,
        "prompt_n": 6,
        "prompt_ms": 1.6,
        "prompt_per_token_ms": 1.6 / 6,
        "prompt_per_second": 3750.0,
        "predicted_n": 5,
        "predicted_ms": 2.56,
        "predicted_per_token_ms": 0.64,
        "predicted_per_second": 1562.5,
    }


def test_what_took_no_time_or_made_no_token_has_no_rate() -> None:
    instant = Timings(prompt_n=3, predicted_n=3)
    for timings in (Timings(), Timings(predicted_n=1, predicted_us=1), Timings(prompt_us=5), instant):
        values = timing_values(timings)
        assert {value for name, value in values.items() if "per" in name} == {0.0}
        rates = [line for line in timing_lines(timings, 0) if "per second" in line]
        assert [line.endswith("    0.00 ms per token,     0.00 tokens per second)") for line in rates] == [True, True]


def test_two_tokens_took_the_time_of_one() -> None:
    assert timing_values(Timings(predicted_n=2, predicted_us=500))["predicted_per_token_ms"] == 0.5
