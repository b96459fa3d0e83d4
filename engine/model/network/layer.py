"""Weights and biases of one layer, arranged for speed.

Weights of norms are multiplied into the matrices that follow them and the attention scale into the queries'. Matrices
with the same input are one matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from msgspec import Struct

from ..arrays import Floats
from ..gguf.hparams import HParams
from .matmul import Matrix, padded_size

__all__ = ["Feed", "Layer", "Mixture", "TensorSource", "load_layers", "optional"]

TensorSource = Callable[[str], Floats]
"""Gives a tensor by its name, or raises `KeyError`."""
QKV = ("attn_q", "attn_k", "attn_v")
FUSED_QKV = "attn_qkv"
"""The three in one tensor, as some files have them."""
GATE_UP = ("ffn_gate", "ffn_up")


class Feed(Struct, frozen=True):
    """A feed-forward network. ``gate_up``: [2F, E], negated, as `FeedPass.activate` wants it; ``down``: [E, F]."""

    gate_up: Matrix
    down: Matrix


class Mixture(Struct, frozen=True):
    """Several feed-forward networks. ``router``: [n_expert, E], the logits of the choice between them."""

    router: Matrix
    experts: tuple[Feed, ...]


class Layer(Struct, frozen=True):
    """``qkv``: [H × D + J × (D + Dv), E]; ``out``: [E, H × Dv]; ``feed``: a `Mixture` where the model has experts."""

    qkv: Matrix
    out: Matrix
    feed: Feed | Mixture


def load_layers(h: HParams, tensor: TensorSource) -> list[Layer]:
    """Read and arrange the weights of all layers.

    They share one allocation: the operating system backs large ones with large pages, over which they are read faster.
    A norm divides by the root of the sum of squares instead of their mean, so its weights take the root of the width.
    """
    shapes = _shapes(h)
    sizes = [padded_size(*shape) for shape in shapes]
    pool = np.zeros((h.n_layer, sum(sizes)), np.float32)
    ends = np.cumsum(sizes)
    layers: list[Layer] = []
    for number, memory in enumerate(pool):
        parts = [memory[end - size : end] for size, end in zip(sizes, ends, strict=True)]
        matrices = [Matrix(*shape, part) for shape, part in zip(shapes, parts, strict=True)]
        get = partial(_layer_tensor, tensor, number)
        qkv, out, *feeds = matrices
        _fill_attention(qkv, out, h, get)
        layers.append(Layer(qkv, out, _mixture(feeds, h, get) if h.n_expert else _feed(feeds, h, get)))
    return layers


def _shapes(h: HParams) -> list[tuple[int, int]]:
    n_q, n_k, n_v = h.n_head * h.head_dim_k, h.n_head_kv * h.head_dim_k, h.n_head_kv * h.head_dim_v
    attention = [(n_q + n_k + n_v, h.n_embd), (h.n_embd, h.n_head * h.head_dim_v)]
    return attention + [(2 * h.n_ff, h.n_embd), (h.n_embd, h.n_ff)] * max(1, h.n_expert)


def _layer_tensor(tensor: TensorSource, number: int, name: str) -> Floats:
    return tensor(f"blk.{number}.{name}")


def _fill_attention(qkv: Matrix, out: Matrix, h: HParams, get: TensorSource) -> None:
    """Put the weights in place, multiplied by what would else be done to their inputs or results in every step."""
    scale = np.float32(h.head_dim_k**-0.5)
    names = QKV if optional(get, f"{FUSED_QKV}.weight") is None else (FUSED_QKV,)
    weights = _weights(get, *names)
    weights[: h.n_head * h.head_dim_k] *= scale
    weights *= _norm(h, get("attn_norm.weight"))
    bias = _bias(get, *names)
    if bias is not None:
        bias[: h.n_head * h.head_dim_k] *= scale
    qkv.fill(weights, bias)
    out.fill(_weights(get, "attn_output"), _bias(get, "attn_output"))


def _norm(h: HParams, weights: Floats) -> Floats:
    return weights * np.float32(h.n_embd**0.5)


def _feed(matrices: Sequence[Matrix], h: HParams, get: TensorSource) -> Feed:
    feed, gate_up, bias = Feed(*matrices), _weights(get, *GATE_UP), _bias(get, *GATE_UP)
    gate_up *= -_norm(h, get("ffn_norm.weight"))
    feed.gate_up.fill(gate_up, None if bias is None else -bias)
    feed.down.fill(_weights(get, "ffn_down"), _bias(get, "ffn_down"))
    return feed


def _mixture(matrices: Sequence[Matrix], h: HParams, get: TensorSource) -> Mixture:
    norm = _norm(h, get("ffn_norm.weight"))
    gates, ups, downs = (get(f"{name}_exps.weight") for name in (*GATE_UP, "ffn_down"))
    experts = tuple(Feed(*pair) for pair in zip(matrices[::2], matrices[1::2], strict=True))
    for feed, gate, up, down in zip(experts, gates, ups, downs, strict=True):
        feed.gate_up.fill(np.concatenate([gate, up]) * -norm)
        feed.down.fill(down)
    return Mixture(Matrix.of(get("ffn_gate_inp.weight") * norm), experts)


def _weights(get: TensorSource, *names: str) -> Floats:
    """Matrices with the same input as one, the rows of the first one first."""
    return np.concatenate([get(f"{name}.weight") for name in names])


def _bias(get: TensorSource, *names: str) -> Floats | None:
    """Biases side by side, zeros for a matrix without one; None where none of them has one."""
    biases = [optional(get, f"{name}.bias") for name in names]
    if all(bias is None for bias in biases):
        return None
    return np.concatenate(
        [
            np.zeros(len(get(f"{name}.weight")), np.float32) if bias is None else bias
            for name, bias in zip(names, biases, strict=True)
        ]
    )


def optional(get: TensorSource, name: str) -> Floats | None:
    """A tensor that need not be there."""
    try:
        return get(name)
    except KeyError:
        return None
