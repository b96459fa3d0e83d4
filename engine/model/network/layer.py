"""Weights and biases of one layer, arranged for speed.

Weights of norms are multiplied into the matrices that follow them and the attention scale into the queries'. Matrices
with the same input are one matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from msgspec import Struct

from ..gguf.hparams import HParams
from .arrays import Floats
from .matmul import Matrix, padded_size

__all__ = ["Layer", "TensorSource", "load_layers"]

TensorSource = Callable[[str], Floats]
"""Gives a tensor by its name, or raises `KeyError`."""
QKV = ("attn_q", "attn_k", "attn_v")
GATE_UP = ("ffn_gate", "ffn_up")


class Layer(Struct, frozen=True):
    """``qkv``: [H × D + J × (D + Dv), E]; ``out``: [E, H × Dv]; ``gate_up``: [2F, E]; ``down``: [E, F].

    ``gate_up`` is negated, as `BatchPass.activate` wants it.
    """

    qkv: Matrix
    out: Matrix
    gate_up: Matrix
    down: Matrix


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
        layers.append(Layer(*(Matrix(*shape, part) for shape, part in zip(shapes, parts, strict=True))))
        _fill(layers[-1], h, partial(_layer_tensor, tensor, number))
    return layers


def _shapes(h: HParams) -> list[tuple[int, int]]:
    n_q, n_k, n_v = h.n_head * h.head_dim_k, h.n_head_kv * h.head_dim_k, h.n_head_kv * h.head_dim_v
    return [
        (n_q + n_k + n_v, h.n_embd),
        (h.n_embd, h.n_head * h.head_dim_v),
        (2 * h.n_ff, h.n_embd),
        (h.n_embd, h.n_ff),
    ]


def _layer_tensor(tensor: TensorSource, number: int, name: str) -> Floats:
    return tensor(f"blk.{number}.{name}")


def _fill(layer: Layer, h: HParams, get: TensorSource) -> None:
    """Put the weights in place, multiplied by what would else be done to their inputs or results in every step."""
    width = np.float32(h.n_embd**0.5)
    scale = np.float32(h.head_dim_k**-0.5)
    qkv = _weights(get, *QKV)
    qkv[: h.n_head * h.head_dim_k] *= scale
    qkv *= get("attn_norm.weight") * width
    qkv_bias = _bias(get, *QKV)
    if qkv_bias is not None:
        qkv_bias[: h.n_head * h.head_dim_k] *= scale
    layer.qkv.fill(qkv, qkv_bias)
    layer.out.fill(_weights(get, "attn_output"), _bias(get, "attn_output"))
    gate_up = _weights(get, *GATE_UP)
    gate_up *= get("ffn_norm.weight") * -width
    gate_up_bias = _bias(get, *GATE_UP)
    layer.gate_up.fill(gate_up, None if gate_up_bias is None else -gate_up_bias)
    layer.down.fill(_weights(get, "ffn_down"), _bias(get, "ffn_down"))


def _weights(get: TensorSource, *names: str) -> Floats:
    """Matrices with the same input as one, the rows of the first one first."""
    return np.concatenate([get(f"{name}.weight") for name in names])


def _bias(get: TensorSource, *names: str) -> Floats | None:
    """Biases side by side, zeros for a matrix without one; None where none of them has one."""
    biases = [_optional(get, f"{name}.bias") for name in names]
    if all(bias is None for bias in biases):
        return None
    return np.concatenate(
        [
            np.zeros(len(get(f"{name}.weight")), np.float32) if bias is None else bias
            for name, bias in zip(names, biases, strict=True)
        ]
    )


def _optional(get: TensorSource, name: str) -> Floats | None:
    try:
        return get(name)
    except KeyError:
        return None
