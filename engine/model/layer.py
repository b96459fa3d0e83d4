"""Weights of one layer, arranged for speed.

Weights of norms are multiplied into the matrices that follow them and the attention scale into the queries'. Matrices
with the same input are one matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from .hparams import HParams
from .kv_types_float import Floats
from .matmul import Matrix, padded_size

__all__ = ["Layer", "TensorSource", "load_layers"]

TensorSource = Callable[[str], Floats]


@dataclass(frozen=True, slots=True)
class Layer:
    """``qkv``: [H × D + J × (D + Dv), E]; ``out``: [E, H × Dv]; ``gate_up``: [2F, E], negated; ``down``: [E, F]."""

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
    return tensor(f"blk.{number}.{name}.weight")


def _fill(layer: Layer, h: HParams, get: TensorSource) -> None:
    width = np.float32(h.n_embd**0.5)
    scale = np.float32(h.head_dim_k**-0.5)
    qkv = np.concatenate([get("attn_q") * scale, get("attn_k"), get("attn_v")])
    qkv *= get("attn_norm") * width
    layer.qkv.fill(qkv)
    layer.out.fill(get("attn_output"))
    gate_up = np.concatenate([get("ffn_gate"), get("ffn_up")])
    gate_up *= get("ffn_norm") * -width
    layer.gate_up.fill(gate_up)
    layer.down.fill(get("ffn_down"))
