"""Products of a weight matrix with a few or many rows."""

from __future__ import annotations

import numpy as np

from .kv_types_float import Floats

__all__ = ["Matrix"]

BLOCK_BYTES = 1 << 18
FEW_ROWS = 12


class Matrix:
    """Weights [n_out, n_in], row-major as in model files."""

    def __init__(self, weights: Floats) -> None:
        self.weights = weights
        self.n_out, self.n_in = weights.shape
        size = max(1, BLOCK_BYTES // (4 * self.n_in))
        whole = self.n_out // size * size
        self._blocks = weights[:whole].reshape(-1, 1, size, self.n_in)
        self._rest = weights[whole:]

    def product(self, rows: Floats, out: Floats) -> Floats:
        """rows [n, n_in] times the transposed weights, into out [n, n_out]."""
        if len(rows) >= FEW_ROWS:
            return np.matmul(rows, self.weights.T, out=out)
        whole = self.n_out - len(self._rest)
        if whole:
            blocks = out[:, :whole].reshape(len(rows), len(self._blocks), -1).transpose(1, 0, 2)
            np.matmul(self._blocks, rows[None, :, :, None], out=blocks[..., None])
        if len(self._rest):
            np.matmul(self._rest, rows[:, :, None], out=out[:, whole:, None])
        return out
