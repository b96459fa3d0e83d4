"""Sampling: what a request's parameters do to its tokens."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from slotview.engine.model.sampling import Sampler, SamplerError, probabilities, sample_rows
from slotview.engine.model.sampling_params import RANDOM_SEED, SamplingParams
from tests.engine.stub_model import ByteTokenizer

TOKENIZER = ByteTokenizer(64)
GREEDY = SamplingParams(temperature=0.0)
SEEDED = SamplingParams(seed=7)


def row(seed: int = 1, scale: float = 3.0) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(64) * scale).astype(np.float32)


def draw(params: SamplingParams, logits: np.ndarray, n: int = 200) -> list[int]:
    sampler = Sampler(params, TOKENIZER)
    sampler.prime([])
    return [sampler.sample(logits) for _ in range(n)]


def test_temperature_zero_takes_the_best() -> None:
    assert set(draw(GREEDY, row(), 5)) == {int(row().argmax())}


def test_without_samplers_even_temperature_zero_draws_from_all() -> None:
    assert len(set(draw(replace(GREEDY, samplers=(), seed=1), row(scale=0.1)))) > 20


def test_the_same_seed_says_the_same_and_another_does_not() -> None:
    assert draw(SEEDED, row()) == draw(SEEDED, row())
    assert draw(SEEDED, row()) != draw(replace(SEEDED, seed=8), row())
    random = replace(SEEDED, seed=RANDOM_SEED)
    assert draw(random, row()) != draw(random, row())


def test_top_k_keeps_k() -> None:
    best = set(np.argsort(-row())[:3].tolist())
    params = replace(SEEDED, top_k=3, top_p=1.0, min_p=0.0, temperature=5.0)
    assert set(draw(params, row())) == best


def test_top_p_keeps_the_fewest_that_reach_it() -> None:
    logits = np.log(np.array([0.5, 0.3, 0.15, 0.05] + [1e-9] * 60)).astype(np.float32)
    params = replace(SEEDED, top_k=0, top_p=0.75, min_p=0.0)
    assert set(draw(params, logits)) == {0, 1}


def test_min_p_drops_what_is_far_below_the_best() -> None:
    logits = np.log(np.array([0.5, 0.3, 0.15, 0.05] + [1e-9] * 60)).astype(np.float32)
    params = replace(SEEDED, top_k=0, top_p=1.0, min_p=0.2)
    assert set(draw(params, logits, 400)) == {0, 1, 2}


def test_ignore_eos_and_bias_forbid_tokens() -> None:
    logits = np.zeros(64, np.float32)
    logits[0] = 9  # the end
    logits[5] = 8
    assert draw(GREEDY, logits, 1) == [0]
    assert draw(replace(GREEDY, ignore_eos=True), logits, 1) == [5]
    assert draw(replace(GREEDY, ignore_eos=True, logit_bias=((5, -math.inf), (9, 4.0))), logits, 1) == [9]


def test_a_repeat_penalty_turns_to_another_token() -> None:
    logits = np.zeros(64, np.float32)
    logits[5], logits[6] = 2.0, 1.5
    sampler = Sampler(replace(GREEDY, repeat_penalty=2.0), TOKENIZER)
    sampler.prime([1, 2])
    assert sampler.sample(logits) == 5
    sampler.accept(5)
    assert sampler.sample(logits) == 6


def test_penalties_see_the_prompt_and_forget_beyond_the_window() -> None:
    logits = np.zeros(64, np.float32)
    logits[5], logits[6] = 2.0, 1.5
    sampler = Sampler(replace(GREEDY, presence_penalty=1.0, repeat_last_n=2), TOKENIZER)
    sampler.prime([5, 1])
    assert sampler.sample(logits) == 6
    sampler.accept(2)
    assert sampler.sample(logits) == 5


def test_dry_stops_a_growing_repetition() -> None:
    logits = np.zeros(64, np.float32)
    logits[3], logits[9] = 2.0, 1.0
    sampler = Sampler(replace(GREEDY, dry_multiplier=5.0, dry_sequence_breakers=("\n",)), TOKENIZER)
    sampler.prime([11, 12, 13, 3, 20, 11, 12, 13])
    assert sampler.sample(logits) == 9
    assert draw(GREEDY, logits, 1) == [3]


@pytest.mark.parametrize("version", [1, 2])
def test_mirostat_never_says_what_is_forbidden(version: int) -> None:
    logits = row()
    logits[0] = 50
    params = replace(SEEDED, mirostat=version, ignore_eos=True)
    said = draw(params, logits)
    assert 0 not in said
    assert set(said) <= set(np.argsort(-logits)[:40].tolist())


@pytest.mark.parametrize("penalty", [0.0, -1.0, 1e-40, math.inf, math.nan])
def test_a_penalty_that_has_no_reciprocal_is_refused(penalty: float) -> None:
    with pytest.raises(SamplerError, match="penalty_repeat must be finite and greater than 0"):
        Sampler(replace(GREEDY, repeat_penalty=penalty), TOKENIZER)


def test_probabilities_before_and_after_sampling() -> None:
    logits = row()
    sampler = Sampler(replace(GREEDY, n_probs=3), TOKENIZER)
    token = sampler.sample(logits)
    value, top = probabilities(logits, sampler, token)
    exact = np.log(np.exp(logits.astype(np.float64)) / np.exp(logits.astype(np.float64)).sum())
    assert value == pytest.approx(exact[token])
    assert [other for other, _ in top] == np.argsort(-logits)[:3].tolist()
    after = Sampler(replace(GREEDY, n_probs=3, post_sampling_probs=True), TOKENIZER)
    assert probabilities(logits, after, after.sample(logits)) == (1.0, [(token, 1.0)])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.0, 0.7, 1.5]), st.integers(0, 70), st.sampled_from([0.0, 0.5, 0.95, 1.0]),
            st.sampled_from([0.0, 0.05, 0.9]), st.integers(0, 5), st.booleans(), st.integers(0, 2**32 - 2),
        ),
        min_size=1, max_size=12,
    ),
    st.integers(0, 1000),
)  # fmt: skip
def test_many_rows_at_once_are_the_same_as_one_by_one(
    kinds: list[tuple[float, int, float, float, int, bool, int]], seed: int
) -> None:
    logits = (np.random.default_rng(seed).standard_normal((len(kinds), 64)) * 2).astype(np.float32)

    def samplers() -> list[Sampler]:
        return [
            Sampler(
                SamplingParams(temperature=t, top_k=k, top_p=p, min_p=m, min_keep=keep, ignore_eos=eos, seed=own),
                TOKENIZER,
            )
            for t, k, p, m, keep, eos, own in kinds
        ]

    alone = [sampler.sample(one) for sampler, one in zip(samplers(), logits, strict=True)]
    assert sample_rows(logits, samplers()) == alone
