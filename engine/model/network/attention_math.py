"""Arithmetic that all ways of attending share."""

from __future__ import annotations

import math

import numpy as np

from ..arrays import Floats
from .matmul import MOST_OUTPUTS

__all__ = ["exponentials", "key_operands"]


def key_operands(queries: Floats, keys: Floats, scores: Floats) -> tuple[Floats, Floats, Floats]:
    """Operands of the product that gives scores [B, J, G, T] of queries [B, J, G, D] and keys [B, T, J, D].

    T is cut into pieces so that no product is too large for BLAS's small kernel (`matmul`). The operands are views of
    the shapes [B, J, 1, G, D], [B, J, pieces, D, piece] and [B, J, pieces, G, piece].
    """
    n, n_kv, n_group, length = scores.shape
    piece = math.gcd(length, 1 << (MOST_OUTPUTS // n_group).bit_length() - 1)
    cut_keys = keys.reshape(n, length // piece, piece, n_kv, -1).transpose(0, 3, 1, 4, 2)
    cut_scores = scores.reshape(n, n_kv, n_group, -1, piece).transpose(0, 1, 3, 2, 4)
    return queries[:, :, None], cut_keys, cut_scores


def exponentials(scores: Floats, total: Floats) -> None:
    """Replace scores [..., T] by exp(score - highest) and put their sums into total [..., 1]."""
    np.maximum.reduce(scores, axis=-1, keepdims=True, out=total)
    np.subtract(scores, total, out=scores)
    np.exp(scores, out=scores)
    np.add.reduce(scores, axis=-1, keepdims=True, out=total)
