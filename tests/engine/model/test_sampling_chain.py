"""The sampler chain against plain definitions of its steps."""

from __future__ import annotations

import math
import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from numpy.typing import NDArray

from slotview.engine.model.sampling import Sampler, probabilities, sample_rows
from slotview.engine.model.sampling.best import best
from slotview.engine.model.sampling_params import SamplingParams
from tests.engine.stub_model import ByteTokenizer

Row = NDArray[np.float32]

TOKENIZER = ByteTokenizer(64)
OPEN = SamplingParams(seed=3, top_k=0, top_p=1.0, min_p=0.0, temperature=1.0)
LOGITS = st.lists(st.integers(-40, 40).map(lambda i: i / 4), min_size=64, max_size=64)


def shares(*values: float) -> Row:
    """Logits of 64 tokens of which the first have these probabilities."""
    rest = [1e-12] * (64 - len(values))
    logits: Row = np.log(np.array([*values, *rest])).astype(np.float32)
    return logits


def left_after(params: SamplingParams, logits: Row) -> dict[int, float]:
    """Probability of every token that the chain leaves."""
    sampler = Sampler(replace(params, n_probs=64, post_sampling_probs=True), TOKENIZER)
    token = sampler.sample(logits)
    return dict(probabilities(logits, sampler, token)[1])


def softmax(logits: Row) -> NDArray[np.float64]:
    weights = np.exp(logits.astype(np.float64) - float(logits.max()))
    return np.asarray(weights / weights.sum())


@settings(max_examples=100, deadline=None)
@given(LOGITS, st.integers(1, 80))
def test_top_k_leaves_the_k_best_whatever_min_keep_says(values: list[float], k: int) -> None:
    logits = np.array(values, np.float32)
    left = left_after(replace(OPEN, top_k=k, min_keep=30), logits)
    assert sorted(left) == sorted(np.argsort(-logits, kind="stable")[:k].tolist())


@settings(max_examples=100, deadline=None)
@given(LOGITS, st.floats(0.01, 0.99), st.integers(0, 10))
def test_top_p_leaves_the_fewest_that_reach_p_but_at_least_min_keep(values: list[float], p: float, keep: int) -> None:
    logits = np.array(values, np.float32)
    chances = np.sort(softmax(logits))[::-1]
    n = len(left_after(replace(OPEN, top_p=p, min_keep=keep), logits))
    assert n >= max(1, keep)
    assert chances[:n].sum() >= p - 1e-5
    assert n == max(1, keep) or chances[: n - 1].sum() < p + 1e-5


@settings(max_examples=100, deadline=None)
@given(LOGITS, st.floats(0.001, 1.0), st.integers(0, 10))
def test_min_p_leaves_what_is_likely_enough_but_at_least_min_keep(values: list[float], p: float, keep: int) -> None:
    logits = np.array(values, np.float32)
    chances = softmax(logits)
    left = left_after(replace(OPEN, min_p=p, min_keep=keep), logits)
    enough = int((chances >= p * chances.max() * (1 + 1e-5)).sum())
    at_most = int((chances >= p * chances.max() * (1 - 1e-5)).sum())
    assert max(enough, keep) <= len(left) <= max(at_most, keep)


def test_typical_leaves_the_tokens_of_ordinary_surprise() -> None:
    assert set(left_after(replace(OPEN, typical_p=0.2), shares(0.7, 0.15, 0.1, 0.05))) == {0}
    flat = shares(0.4, 0.3, 0.2, 0.1)
    assert set(left_after(replace(OPEN, typical_p=0.29), flat)) == {1}


def test_top_n_sigma_forbids_what_lies_far_below_the_best() -> None:
    logits = np.zeros(64, np.float32)
    logits[:2] = 10, 9
    assert set(left_after(replace(OPEN, top_n_sigma=1.0), logits)) == {0, 1}


def test_xtc_drops_all_but_the_least_likely_of_the_likely_ones() -> None:
    logits = shares(0.4, 0.3, 0.2, 0.1)
    assert set(left_after(replace(OPEN, xtc_probability=1.0, xtc_threshold=0.15), logits)) >= {2, 3}
    assert not {0, 1} & set(left_after(replace(OPEN, xtc_probability=1.0, xtc_threshold=0.15), logits))
    assert 0 in left_after(replace(OPEN, xtc_probability=0.0), logits)
    assert 0 in left_after(replace(OPEN, xtc_probability=1.0, xtc_threshold=0.6), logits)


def test_temperature_sharpens_and_flattens() -> None:
    logits = shares(0.6, 0.4)
    cold, warm = left_after(replace(OPEN, temperature=0.1), logits), left_after(replace(OPEN, temperature=9.0), logits)
    assert cold[0] > 0.95
    assert warm[0] < 0.3


def test_a_dynamic_temperature_is_low_where_the_model_is_sure() -> None:
    sure, unsure = shares(0.98, 0.02), shares(*[1 / 64] * 64)
    params = replace(OPEN, temperature=1.0, dynatemp_range=0.9)
    assert left_after(params, sure)[0] > 0.99
    assert max(left_after(params, unsure).values()) == pytest.approx(1 / 64, rel=1e-3)


def test_the_order_of_samplers_is_respected() -> None:
    logits = shares(0.5, 0.3, 0.2)
    hot = replace(OPEN, top_p=0.6, temperature=50.0)
    assert set(left_after(replace(hot, samplers=("top_p", "temperature")), logits)) == {0, 1}
    assert len(left_after(replace(hot, samplers=("temperature", "top_p")), logits)) > 3
    assert set(left_after(replace(hot, samplers=("temperature", "top_k"), top_k=1), logits)) == {0}


def test_penalties_work_also_behind_other_samplers() -> None:
    params = replace(OPEN, samplers=("top_k", "penalties"), top_k=2, presence_penalty=100.0)
    sampler = Sampler(params, TOKENIZER)
    sampler.prime([0])
    assert {sampler.sample(shares(0.9, 0.1)) for _ in range(20)} == {1}


def test_frequencies_count_how_often() -> None:
    logits = np.zeros(64, np.float32)
    logits[[5, 6]] = 3.0, 2.5
    params = replace(OPEN, temperature=0.0, frequency_penalty=0.2)
    once, thrice = Sampler(params, TOKENIZER), Sampler(params, TOKENIZER)
    once.prime([5])
    thrice.prime([5, 5, 5])
    assert (once.sample(logits), thrice.sample(logits)) == (5, 6)


def dry(**changes: float | int | tuple[str, ...]) -> Sampler:
    params = replace(OPEN, temperature=0.0, dry_multiplier=5.0, dry_sequence_breakers=("\n",))
    return Sampler(replace(params, **changes), ByteTokenizer(128))


def after_text(sampler: Sampler, text: str) -> int:
    """What is said after a text by a model that wants "d" most and "z" next."""
    sampler.prime(text.encode())
    logits = np.zeros(128, np.float32)
    logits[[ord("d"), ord("z")]] = 2.0, 1.0
    return sampler.sample(logits)


def test_dry_lets_a_repetition_end_at_a_breaker() -> None:
    assert after_text(dry(), "abcd..abc") == ord("z")
    assert after_text(dry(), "abcd..ab\nbc") == ord("z")
    assert after_text(dry(), "abcd..ab\nc") == ord("d")


def test_thousands_of_breakers_are_looked_up_at_once() -> None:
    began = time.thread_time()
    sampler = dry(dry_sequence_breakers=(*(f"b{n}" for n in range(50_000)), "##"))
    assert time.thread_time() - began < 5
    assert after_text(sampler, "a##cd..a##c") == ord("d")


def test_dry_knows_breakers_of_several_tokens() -> None:
    assert after_text(dry(dry_sequence_breakers=("##",)), "a##cd..a##c") == ord("d")
    assert after_text(dry(dry_sequence_breakers=("##",)), "a#xcd..a#xc") == ord("z")


def test_dry_allows_short_repetitions_and_forgets_old_ones() -> None:
    assert after_text(dry(dry_allowed_length=4), "abcd..abc") == ord("d")
    assert after_text(dry(dry_penalty_last_n=6), "abcd..abc") == ord("d")
    assert after_text(dry(dry_multiplier=0.0), "abcd..abc") == ord("d")


def test_dry_survives_an_endless_repetition() -> None:
    assert after_text(dry(dry_base=3.0, dry_penalty_last_n=1000), "d" * 1000) == ord("z")


def test_adaptive_p_prefers_what_is_near_its_target() -> None:
    params = replace(OPEN, samplers=("top_k", "adaptive_p"), top_k=3, adaptive_target=0.1, adaptive_decay=0.0)
    sampler = Sampler(params, TOKENIZER)
    counts = Counter(sampler.sample(shares(0.8, 0.1, 0.1)) for _ in range(200))
    assert counts[1] + counts[2] > 150
    off = replace(params, adaptive_target=-1.0)
    plain = Sampler(replace(params, samplers=("top_k",)), TOKENIZER)
    same = Sampler(off, TOKENIZER)
    assert [same.sample(shares(0.5, 0.5)) for _ in range(20)] == [plain.sample(shares(0.5, 0.5)) for _ in range(20)]


def test_adaptive_p_makes_up_for_what_was_too_likely() -> None:
    sampler = Sampler(replace(OPEN, samplers=("top_k", "adaptive_p"), top_k=2, adaptive_target=0.5), TOKENIZER)
    even, nearly = np.zeros(64, np.float32), shares(0.6, 0.4)
    for _ in range(20):
        sampler.accept(sampler.sample(even))  # each 1 of 2, as wanted
    balanced = Counter(sampler.sample(nearly) for _ in range(300))
    for _ in range(20):
        sampler.accept(sampler.sample(shares(1.0)))
    assert Counter(sampler.sample(nearly) for _ in range(300))[1] > balanced[1]


@pytest.mark.parametrize("version", [1, 2])
def test_mirostat_keeps_the_surprise_near_its_target(version: int) -> None:
    rng = np.random.default_rng(5)
    sampler = Sampler(replace(OPEN, mirostat=version, mirostat_tau=2.0), TOKENIZER)
    sampler.prime([])
    surprises = []
    for _ in range(300):
        logits = (rng.standard_normal(64) * 2).astype(np.float32)
        surprises.append(-math.log2(softmax(logits)[sampler.sample(logits)]))
    assert np.mean(surprises[100:]) == pytest.approx(2.5, abs=1.0)


def test_priming_forgets_what_mirostat_learned() -> None:
    logits = shares(0.3, 0.3, 0.2, 0.2)
    sampler = Sampler(replace(OPEN, mirostat=2, mirostat_tau=1.0), TOKENIZER)
    sampler.prime([])
    first = left_of(sampler, logits)
    for _ in range(50):
        sampler.sample(logits)
    sampler.prime([])
    assert left_of(sampler, logits) == first


def left_of(sampler: Sampler, logits: Row) -> int:
    sampler.sample(logits)
    assert sampler.left is not None
    return len(sampler.left)


def test_a_bias_on_one_token_adds_up() -> None:
    logits = np.zeros(64, np.float32)
    logits[7] = 3.0
    sampler = Sampler(replace(OPEN, temperature=0.0, logit_bias=((9, 2.0), (9, 2.0), (99, 50.0))), TOKENIZER)
    assert sampler.sample(logits) == 9


def test_forbidding_every_token_still_gives_one() -> None:
    bias = tuple((token, -math.inf) for token in range(64))
    for params in (OPEN, replace(OPEN, top_k=40, top_p=0.9, min_p=0.1), replace(OPEN, temperature=0.0)):
        sampler = Sampler(replace(params, logit_bias=bias), TOKENIZER)
        logits = np.zeros((1, 64), np.float32)
        assert 0 <= sampler.sample(logits[0]) < 64
        assert 0 <= sample_rows(logits, [sampler])[0] < 64


def test_the_draw_follows_the_probabilities() -> None:
    sampler = Sampler(OPEN, TOKENIZER)
    counts = Counter(sampler.sample(shares(0.7, 0.2, 0.1)) for _ in range(4000))
    assert [counts[token] / 4000 for token in range(3)] == pytest.approx([0.7, 0.2, 0.1], abs=0.03)


def test_texts_do_not_depend_on_the_requests_beside_them() -> None:
    rng = np.random.default_rng(2)
    logits = (rng.standard_normal((20, 8, 64)) * 2).astype(np.float32)
    params = SamplingParams(seed=11)
    alone = Sampler(params, TOKENIZER)
    expected = [sample_rows(step[3:4], [alone])[0] for step in logits]
    crowd = [Sampler(replace(params, seed=100 + number), TOKENIZER) for number in range(8)]
    crowd[3] = Sampler(params, TOKENIZER)
    assert [sample_rows(step, crowd)[3] for step in logits] == expected


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 400), st.integers(1, 3), st.integers(1, 60), st.integers(0, 1000), st.booleans())
def test_the_best_are_those_of_a_full_sort(n: int, rows: int, k: int, seed: int, ties: bool) -> None:
    values = np.random.default_rng(seed).standard_normal((rows, n)).astype(np.float32)
    values = np.round(values) if ties else values
    ids, found = best(values, k)
    order = np.argsort(-values, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(ids, order)
    np.testing.assert_array_equal(found, np.take_along_axis(values, order, axis=1))


def test_a_large_vocabulary_is_cut_like_a_small_one() -> None:
    rng = np.random.default_rng(4)
    tokenizer = ByteTokenizer(20_000)
    for scale in (0.5, 3.0, 8.0):
        logits = (rng.standard_normal(20_000) * scale).astype(np.float32)
        sampler = Sampler(replace(OPEN, top_p=0.9, n_probs=1, post_sampling_probs=True), tokenizer)
        sampler.sample(logits)
        chances = np.sort(softmax(logits))[::-1]
        assert sampler.left is not None
        assert len(sampler.left) == pytest.approx(int(np.searchsorted(np.cumsum(chances), 0.9)) + 1, abs=2)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 60), st.sampled_from([0.5, 0.95, 1.0]), st.sampled_from([0.0, 0.05]))
def test_rows_of_a_real_size_are_the_same_as_one_by_one(seed: int, k: int, p: float, m: float) -> None:
    logits = (np.random.default_rng(seed).standard_normal((6, 1024)) * 3).astype(np.float32)
    tokenizer = ByteTokenizer(1024)
    params = SamplingParams(top_k=k, top_p=p, min_p=m, logit_bias=((3, 2.0), (4, -math.inf)))
    alone = [Sampler(replace(params, seed=row), tokenizer) for row in range(6)]
    together = [Sampler(replace(params, seed=row), tokenizer) for row in range(6)]
    expected = [sampler.sample(row) for sampler, row in zip(alone, logits, strict=True)]
    assert sample_rows(logits, together) == expected


def test_infill_ends_early_or_keeps_the_sure_words_which_take_what_they_begin() -> None:
    pieces = {1: b" pl", 2: b" place", 3: b" p", 4: b"x"}
    alone = Sampler(
        replace(OPEN, samplers=("infill",), n_probs=9, post_sampling_probs=True), ByteTokenizer(6, pieces=pieces)
    )

    def left(*values: float) -> set[int]:
        logits = np.log(np.array(values)).astype(np.float32)
        token = alone.sample(logits)
        return {other for other, _ in probabilities(logits, alone, token)[1]}

    assert left(0.1, 0.3, 0.3, 0.1, 0.1, 0.1) == {0}
    assert left(1e-9, 0.15, 0.12, 0.1, 0.5, 0.13) == {0, 1, 4}
    assert left(1e-9, 0.5, 0.1, 0.05, 0.1, 0.25) == {0, 1}
    assert left(1e-9, 0.15, 1e-9, 1e-9, 0.15, 0.7) == {0, 5}
