"""Weights of one layer, arranged for speed.

Weights of norms are multiplied into the matrices that follow them and the attention scale into the queries'. Matrices
with the same input are one matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .hparams import HParams
from .kv_types_float import Floats
from .matmul import Matrix

__all__ = ["Layer", "TensorSource", "load_layer"]

TensorSource = Callable[[str], Floats]


@dataclass(frozen=True, slots=True)
class Layer:
    """``qkv``: [H × D + J × (D + Dv), E]; ``out``: [E, H × Dv]; ``gate_up``: [2F, E], negated; ``down``: [E, F]."""

    qkv: Matrix
    out: Matrix
    gate_up: Matrix
    down: Matrix


def load_layer(h: HParams, tensor: TensorSource, number: int) -> Layer:
    """Read and arrange the weights of layer ``number``.

    A norm divides by the root of the sum of squares instead of their mean, so its weights take the root of the width.
    """

    def get(name: str) -> Floats:
        return tensor(f"blk.{number}.{name}.weight")

    width = np.float32(h.n_embd**0.5)
    qkv = np.concatenate([get("attn_q") * np.float32(h.head_dim_k**-0.5), get("attn_k"), get("attn_v")])
    qkv *= get("attn_norm") * width
    gate_up = np.concatenate([get("ffn_gate"), get("ffn_up")])
    gate_up *= get("ffn_norm") * -width
    return Layer(Matrix(qkv), Matrix(get("attn_output")), Matrix(gate_up), Matrix(get("ffn_down")))
