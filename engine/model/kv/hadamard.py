"""The rotation that spreads outliers before K and V are quantized (spec §3.1)."""

from __future__ import annotations

import numpy as np

from ..arrays import Floats

__all__ = ["hadamard", "rotate_heads", "rotation_size"]

SMALLEST = 64


def rotation_size(head_dim: int, *, quantized: bool, largest: bool) -> int:
    """Values rotated together, 0 for none.

    Quantized types are rotated where the head dimension is a multiple of 64: V in groups of 64, K (``largest``) in
    groups of the largest power of two that divides the head dimension.
    """
    if not quantized or head_dim % SMALLEST:
        return 0
    return head_dim & -head_dim if largest else SMALLEST


def hadamard(size: int) -> Floats:
    """Orthonormal Hadamard matrix [size, size] in Sylvester's order: symmetric, its own inverse."""
    matrix = np.ones((1, 1), np.float32)
    while len(matrix) < size:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    scaled: Floats = matrix / np.sqrt(np.float32(size))
    return scaled


def rotate_heads(values: Floats, matrix: Floats) -> Floats:
    """Rotate groups of ``len(matrix)`` neighbouring values of rows [..., n]; its own inverse."""
    groups = values.reshape(-1, len(matrix))
    rotated: Floats = np.matmul(groups, matrix).reshape(values.shape)
    return rotated
