"""Weights of one layer, arranged for speed.

Weights of norms are multiplied into the matrices that follow them and the attention scale into the queries'. Matrices
with the same input are one matrix. All are split among the threads: by outputs, feed-forward by its inner width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .hparams import HParams
from .kv_types_float import Floats
from .matmul import Matrix, cuts, split_rows
from .workspace import Workspace

__all__ = ["FeedForward", "Layer", "TensorSource", "load_layer"]

TensorSource = Callable[[str], Floats]


class FeedForward:
    """One thread's part of the inner width: f of F values. Shapes: n = rows, E = width."""

    def __init__(self, gate: Floats, up: Floats, down: Floats) -> None:
        """gate and up [f, E], both negated; down [E, f]."""
        self._inner = Matrix(np.concatenate([gate, up]))
        self._down = Matrix(down)
        self._work = Workspace()

    def run(self, rows: Floats, out: Floats) -> None:
        """down(silu(gate) × up) of rows [n, E], to out [n, E]: this part's addend.

        With -gate and -up at hand silu(gate) × up is gate × up / (1 + exp(-gate)), and nothing need be negated.
        """
        n, width = len(rows), self._down.n_in
        both = self._work.floats("both", n, 2 * width)
        self._inner.product(rows, both)
        gate, up = both[:, :width], both[:, width:]
        inner = np.multiply(gate, up, out=self._work.floats("inner", n, width))
        np.exp(gate, out=gate)
        np.add(gate, np.float32(1), out=gate)
        np.divide(inner, gate, out=inner)
        self._down.product(inner, out)


@dataclass(frozen=True, slots=True)
class Layer:
    """``qkv``: together [H × D + J × (D + Dv), E]; ``out``: together [E, H × Dv]; ``feed_forward``: addends."""

    qkv: Sequence[Matrix]
    out: Sequence[Matrix]
    feed_forward: Sequence[FeedForward]


def load_layer(h: HParams, tensor: TensorSource, number: int, n_parts: int) -> Layer:
    """Read and arrange the weights of layer ``number``."""

    def get(name: str) -> Floats:
        return tensor(f"blk.{number}.{name}.weight")

    q = get("attn_q") * np.float32(h.head_dim_k**-0.5)
    qkv = np.concatenate([q, get("attn_k"), get("attn_v")]) * get("attn_norm")
    return Layer(split_rows(qkv, n_parts), split_rows(get("attn_output"), n_parts), _feed_forward(h, get, n_parts))


def _feed_forward(h: HParams, get: TensorSource, n_parts: int) -> list[FeedForward]:
    negated_norm = -get("ffn_norm")
    gate, up, down = get("ffn_gate"), get("ffn_up"), get("ffn_down")
    np.multiply(gate, negated_norm, out=gate)
    np.multiply(up, negated_norm, out=up)
    return [FeedForward(gate[a:b], up[a:b], np.ascontiguousarray(down[:, a:b])) for a, b in cuts(h.n_ff, n_parts)]
