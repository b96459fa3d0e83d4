"""Workloads are the same at every run, and say in one line what is wrong with them."""

from __future__ import annotations

import pytest

from slotview.engine.lab.workload import Lengths, WorkloadError, burst, parse_workload, poisson


def test_a_burst_comes_at_once() -> None:
    workload = burst(3, Lengths(20), Lengths(5), times=2, every=1.5)
    assert [arrival.at for arrival in workload.arrivals] == [0.0, 0.0, 0.0, 1.5, 1.5, 1.5]
    assert [arrival.n_answer for arrival in workload.arrivals] == [5] * 6
    assert burst(1, Lengths(20), Lengths(5)).about == "1 request at once: 20 prompt and 5 answer tokens"
    assert workload.about == "3 requests at once, 2 times, every 1.5 s: 20 prompt and 5 answer tokens"


def test_poisson_arrivals_keep_the_rate_and_the_order() -> None:
    workload = poisson(2.0, 500.0, Lengths(10, 30), Lengths(100, tailed=True), seed=3)
    times = [arrival.at for arrival in workload.arrivals]
    assert times == sorted(times)
    assert 900 < len(times) < 1100
    assert {arrival.n_prompt for arrival in workload.arrivals} == set(range(10, 31))
    answers = sorted(arrival.n_answer for arrival in workload.arrivals)
    assert 85 < answers[len(answers) // 2] < 115
    assert answers[-1] > 400


def test_the_same_seed_makes_the_same_workload() -> None:
    text = "poisson rate=1 seconds=50 prompt=10..900 answer=64~ seed=7"
    assert parse_workload(text) == parse_workload(text)
    assert parse_workload(text) != parse_workload(text.replace("seed=7", "seed=8"))


def test_words_make_what_functions_make() -> None:
    assert parse_workload("burst n=8, prompt=61, answer=64") == burst(8, Lengths(61), Lengths(64))
    assert parse_workload("burst").arrivals == burst(8, Lengths(64), Lengths(64)).arrivals
    assert parse_workload("burst shared=40 seed=2").shared == 40


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "nothing"),
        ("flood n=3", "no such workload: flood"),
        ("burst n", "n: write name=value"),
        ("burst n=", "n=: write name=value"),
        ("burst n=zero", "n=zero"),
        ("burst n=0", "must be 1 to 100000"),
        ("burst n=1000 times=1000", "1e+06 requests"),
        ("burst prompt=0", "prompt=0: write 64"),
        ("burst prompt=30..20", "prompt=30..20"),
        ("burst prompt=²", "prompt=²"),
        ("burst rate=3", "rate: there is no such word"),
        ("poisson rate=-1", "rate=-1"),
        ("poisson rate=nan", "rate=nan"),
        ("poisson rate=0 seconds=5", "above 0"),
        ("poisson rate=0.9 seconds=1.2 seed=0", "no request arrives"),
        ("poisson rate=1e9 seconds=60", "must be 1 to"),
    ],
)
def test_nonsense_gets_one_line(text: str, words: str) -> None:
    with pytest.raises(WorkloadError) as error:
        parse_workload(text)
    assert words in str(error.value)
    assert "\n" not in str(error.value)
