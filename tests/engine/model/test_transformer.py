"""The network against a plain float64 one: types, placements of cells, mixed batches, shifts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from slotview.engine.model.gguf.hparams import HParams, RopeScaling
from slotview.engine.model.interface import SequenceRun
from slotview.engine.model.kv.store import TypedKvStore
from slotview.engine.model.network.transformer import Transformer
from slotview.engine.model.threads.blas import has_small_kernel

from .reference import fused, longrope_factors, random_biases, random_weights, reference_logits, small_hparams

TOLERANCE = {
    "f32": 1e-5,
    "f16": 0.002,
    "bf16": 0.01,
    "q8_0": 0.02,
    "q5_1": 0.1,
    "q5_0": 0.1,
    "q4_1": 0.2,
    "q4_0": 0.2,
    "iq4_nl": 0.2,
}
"""Length of the error of logits by the length of the logits, at most."""

Tokens = NDArray[np.int32]


def make(h: HParams | None = None, *, biases: bool = False) -> tuple[Transformer, dict[str, NDArray[np.float32]]]:
    h = h or small_hparams()
    weights = random_weights(h) | (random_biases(h) if biases else {})
    return Transformer(h, lambda name: weights[name].copy()), weights


def tokens_of(n: int, seed: int = 0) -> Tokens:
    return np.random.default_rng(seed).integers(0, 89, n, dtype=np.int32)


def run_of(
    tokens: Tokens, first: int = 0, stream: int = 0, start: int | None = 0, cells: NDArray[np.intp] | None = None
) -> SequenceRun:
    """The tokens from ``first`` on, with the cells of all of them."""
    if cells is None:
        assert start is not None
        cells = np.arange(start, start + len(tokens))
    return SequenceRun(tokens[first:], first, stream, cells, start, wants_logits=True)


def decode_one_by_one(model: Transformer, kv: TypedKvStore, tokens: Tokens, first: int) -> NDArray[np.float32]:
    lengths = range(first + 1, len(tokens) + 1)
    return np.array([model.forward([run_of(tokens[:n], n - 1)], kv)[0].copy() for n in lengths])


def error(
    got: NDArray[np.float32], wanted: Sequence[NDArray[np.float64]] | NDArray[np.float64] | NDArray[np.float32]
) -> float:
    return float(np.linalg.norm(got - np.asarray(wanted)) / np.linalg.norm(wanted))


@pytest.mark.parametrize("n", [1, 5, 200], ids=["a token", "a few", "more than one thread's"])
def test_a_sequence_without_its_beginning_depends_on_the_distances_alone(n: int) -> None:
    model, _ = make()
    tokens = tokens_of(n)
    whole = model.forward([run_of(tokens)], model.new_kv(1, 256, "f32", "f32")).copy()
    kv = model.new_kv(1, 256, "f32", "f32")
    beheaded = model.forward([SequenceRun(tokens, 70, 0, np.arange(n), 0, wants_logits=True)], kv).copy()
    assert error(beheaded[0], whole[0]) < TOLERANCE["f32"]


def test_biases_are_added_where_there_are_some() -> None:
    model, weights = make(biases=True)
    tokens = tokens_of(20)
    kv = model.new_kv(1, 64, "f32", "f32")
    got = decode_one_by_one(model, kv, tokens, 0)
    assert error(got, reference_logits(model.hparams, weights, tokens)) < TOLERANCE["f32"]


@pytest.mark.parametrize("name", TOLERANCE)
def test_prompt_and_decode_follow_the_reference_with_every_type(name: str) -> None:
    model, weights = make()
    kv = model.new_kv(1, 64, name, name)
    tokens = tokens_of(40)
    wanted = reference_logits(model.hparams, weights, tokens)
    prompt = model.forward([run_of(tokens[:30])], kv)[0]
    assert error(prompt, wanted[29]) < TOLERANCE[name]
    assert error(decode_one_by_one(model, kv, tokens, 30), wanted[30:]) < TOLERANCE[name]


@pytest.mark.parametrize(
    "changes",
    [
        {"tied": False},
        {"has_rope_freqs": True},
        {"rope_dim": 32},
        {"rope_scaling": RopeScaling("linear", 4.0)},
        {"n_head_kv": 4},
        {"n_head_kv": 1, "head_dim_v": 32},
        {"head_dim_k": 24, "head_dim_v": 24, "rope_dim": 24},
        {"n_expert": 4, "n_expert_used": 2},
        {"n_expert": 3, "n_expert_used": 1, "tied": False},
        {"n_expert": 2, "n_expert_used": 2},
    ],
    ids=",".join,
)
def test_variants_of_the_architecture(changes: dict[str, object]) -> None:
    model, weights = make(small_hparams(**changes))
    tokens = tokens_of(20)
    wanted = reference_logits(model.hparams, weights, tokens)
    kv = model.new_kv(1, 32, "f32", "f32")
    model.forward([run_of(tokens[:15])], kv)
    assert error(decode_one_by_one(model, kv, tokens, 15), wanted[15:]) < 1e-5


def test_q_k_and_v_may_be_one_matrix() -> None:
    h, tokens = small_hparams(), tokens_of(20)
    apart, together = make(h)[0], Transformer(h, fused(random_weights(h)).__getitem__)
    logits = [model.forward([run_of(tokens)], model.new_kv(1, 32, "f32", "f32"))[0] for model in (apart, together)]
    assert error(logits[0], logits[1]) == 0


@pytest.mark.parametrize(("n_cells", "factors"), [(32, "short"), (33, "long")])
def test_longrope_goes_by_the_length_of_the_context(n_cells: int, factors: str) -> None:
    h = small_hparams(rope_scaling=RopeScaling("longrope", 2.0, n_ctx_orig=32))
    weights, tokens = random_weights(h), tokens_of(20)
    model = Transformer(h, (weights | longrope_factors(h)).__getitem__)
    got = model.forward([run_of(tokens)], model.new_kv(1, n_cells, "f32", "f32"))
    told = weights | {"rope_freqs.weight": longrope_factors(h)[f"rope_factors_{factors}.weight"]}
    assert error(got[0], reference_logits(h, told, tokens)[-1]) < 1e-5


def test_scattered_and_shared_cells() -> None:
    model, weights = make()
    kv = model.new_kv(1, 200, "f32", "f32")
    places = np.random.default_rng(3).permutation(200)
    a = tokens_of(50, 1)
    b = np.concatenate([a[:20], tokens_of(25, 2)]).astype(np.int32)
    cells_a = places[:50]
    cells_b = np.concatenate([cells_a[:20], places[50:75]])
    model.forward([run_of(a[:30], cells=cells_a[:30], start=None)], kv)
    both = [run_of(a, 30, cells=cells_a, start=None), run_of(b, 20, cells=cells_b, start=None)]
    got = model.forward(both, kv)
    assert error(got[0], reference_logits(model.hparams, weights, a)[-1]) < 1e-5
    assert error(got[1], reference_logits(model.hparams, weights, b)[-1]) < 1e-5


def test_mixed_batch_keeps_the_order_of_rows_and_skips_unwanted_ones() -> None:
    model, weights = make()
    kv = model.new_kv(4, 256, "f32", "f32")
    texts = [tokens_of(n, n) for n in (10, 70, 33, 5)]
    done = [9, 0, 32, 4]
    model.forward([run_of(t[:d], stream=s) for s, (t, d) in enumerate(zip(texts, done, strict=True)) if d], kv)
    runs = [run_of(t, d, stream=s) for s, (t, d) in enumerate(zip(texts, done, strict=True))]
    runs[2] = SequenceRun(runs[2].tokens, 32, 2, runs[2].cells, 0, wants_logits=False)
    got = model.forward(runs, kv)
    wanted = [reference_logits(model.hparams, weights, texts[s])[-1] for s in (0, 1, 3)]
    assert error(got, wanted) < 1e-5


def test_a_batch_longer_than_one_piece() -> None:
    model, weights = make()
    kv = model.new_kv(2, 1300, "f32", "f32")
    a, b = tokens_of(600, 4), tokens_of(500, 5)
    got = model.forward([run_of(a), run_of(b, stream=1)], kv)
    assert error(got[0], reference_logits(model.hparams, weights, a)[-1]) < 1e-5
    assert error(got[1], reference_logits(model.hparams, weights, b)[-1]) < 1e-5


@pytest.mark.parametrize(("name", "n_expert"), [("f16", 0), ("q8_0", 0), ("f16", 5)])
def test_neighbours_do_not_change_a_sequence(name: str, n_expert: int) -> None:
    """Not by one bit where products round alike for any number of rows, else by no more than rounding does."""
    model, _ = make(small_hparams(n_expert=n_expert, n_expert_used=2 if n_expert else 0))
    n_slots = 8
    alone, crowded = model.new_kv(n_slots, 128, name, name), model.new_kv(n_slots, 128, name, name)
    texts = [tokens_of(20 + 9 * s, s) for s in range(n_slots)]
    for s, text in enumerate(texts):
        for kv in (alone, crowded):
            model.forward([run_of(text[:-1], stream=s)], kv)
    runs = [run_of(text, len(text) - 1, stream=s) for s, text in enumerate(texts)]
    together = model.forward(runs, crowded).copy()
    for s, run in enumerate(runs):
        assert error(model.forward([run], alone)[0], together[s]) <= (0 if has_small_kernel() else TOLERANCE[name])


@pytest.mark.parametrize("name", ["f32", "f16", "q8_0", "q4_0"])
def test_shift_moves_keys_to_new_positions(name: str) -> None:
    model, weights = make(small_hparams(n_layer=1))
    kv = model.new_kv(1, 64, name, "f32")
    tokens = tokens_of(40)
    model.forward([run_of(tokens[:-1])], kv)
    kept = np.concatenate([np.arange(4), np.arange(14, 39)])
    deltas = np.where(kept >= 14, -10, 0).astype(np.int32)
    model.shift(kv, kept, deltas)
    cells = np.append(kept, 50)
    text = tokens[np.append(kept, 39)]
    got = model.forward([run_of(text, len(text) - 1, cells=cells, start=None)], kv)[0]
    assert error(got, reference_logits(model.hparams, weights, text)[-1]) < 2 * TOLERANCE[name]


def test_copied_stream_continues_alike() -> None:
    model, _ = make()
    kv = model.new_kv(2, 64, "q8_0", "f16")
    tokens = tokens_of(30)
    model.forward([run_of(tokens[:-1])], kv)
    kv.copy_stream(0, 1)
    rows = model.forward([run_of(tokens, 29), run_of(tokens, 29, stream=1)], kv)
    np.testing.assert_array_equal(rows[0], rows[1])


def test_no_run_wants_logits() -> None:
    model, _ = make()
    kv = model.new_kv(1, 64, "f16", "f16")
    run = SequenceRun(tokens_of(5), 0, 0, np.arange(5), 0, wants_logits=False)
    assert model.forward([run], kv).shape == (0, 89)


def test_quantized_cache_refuses_odd_head_dimensions() -> None:
    model, _ = make(small_hparams(head_dim_k=24, head_dim_v=24, rope_dim=24))
    with pytest.raises(ValueError, match="head dimension of 24"):
        model.new_kv(1, 64, "q8_0", "f16")


def sizes(kv: TypedKvStore) -> Sequence[int]:
    return kv.k.items.shape


def test_store_shape_is_cells_of_all_streams() -> None:
    model, _ = make()
    assert sizes(model.new_kv(3, 64, "f16", "f16")) == (3, 192, 128)
