"""Products of a weight matrix with a few or many rows, on one thread.

OpenBLAS copies the weights into a packed form at every large product, which costs more than the product of a few
rows. Small products have a kernel without that step on AVX-512 processors: a matrix is taken in blocks that are small
enough for it; one gufunc call runs over all of them. The rounding of a row then does not depend on the rows beside it,
whatever their number. Elsewhere few rows are taken as matrix-vector products in blocks that stay in the cache, many as
one product.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from .blas import has_small_kernel
from .kv_types_float import Floats

__all__ = ["Matrix", "cuts", "split_rows", "usable_rows"]

NARROW, WIDE = 16, 32
MOST_OUTPUTS = 1024
"""Rows × columns of a result up to which the small kernel is used by OpenBLAS (its limit is 1,200)."""
MOST_PRODUCTS = 1_000_000
"""Multiplications up to which it is used."""
VECTOR_BLOCK_BYTES = 1 << 18
FEW_ROWS = 12


def usable_rows(n: int) -> int:
    """Rows to compute for n: a single one would be a matrix-vector product, which rounds differently."""
    return max(n, 2)


class Matrix:
    """Weights [n_out, n_in], row-major as in model files."""

    def __init__(self, weights: Floats) -> None:
        self.weights = weights
        self.n_out, self.n_in = weights.shape
        self._small = has_small_kernel()
        self._rest = np.zeros((1, WIDE, self.n_in), np.float32)
        self._rest[0, : self.n_out % WIDE] = weights[self.n_out // WIDE * WIDE :]

    def _most_rows(self, size: int) -> int:
        """Rows that may meet a block of ``size`` weight rows at once."""
        most: int = min(MOST_OUTPUTS, MOST_PRODUCTS // self.n_in) // size
        return max(2, most)

    def product(self, rows: Floats, out: Floats) -> None:
        """rows [n, n_in] times the transposed weights, into out [n, n_out], whose rows may be apart."""
        if not self._small:
            self._plain_product(rows, out)
            return
        whole = self.n_out // WIDE * WIDE
        if whole:
            size = WIDE if len(rows) <= self._most_rows(WIDE) else NARROW
            self._block_product(self.weights[:whole].reshape(-1, size, self.n_in), rows, out[:, :whole])
        if whole < self.n_out:
            last = np.empty((len(rows), WIDE), np.float32)
            self._block_product(self._rest, rows, last)
            out[:, whole:] = last[:, : self.n_out - whole]

    def _block_product(self, blocks: Floats, rows: Floats, out: Floats) -> None:
        """Blocks [b, size, n_in], each meeting all chunks of rows in turn while it is in the cache."""
        n, (n_blocks, size, n_in) = len(rows), blocks.shape
        chunk = -(-n // -(-n // self._most_rows(size)))
        end = n // chunk * chunk
        columns = blocks.transpose(0, 2, 1)
        result = out[:end].reshape(-1, chunk, n_blocks, size).transpose(2, 0, 1, 3)
        np.matmul(rows[:end].reshape(1, -1, chunk, n_in), columns[:, None], out=result)
        if end < n:
            begin = n - usable_rows(n - end)
            np.matmul(rows[begin:], columns, out=out[begin:].reshape(n - begin, n_blocks, size).transpose(1, 0, 2))

    def _plain_product(self, rows: Floats, out: Floats) -> None:
        if len(rows) >= FEW_ROWS:
            np.matmul(rows, self.weights.T, out=out)
            return
        size = max(1, VECTOR_BLOCK_BYTES // (4 * self.n_in))
        whole = self.n_out // size * size
        blocks = self.weights[:whole].reshape(-1, 1, size, self.n_in)
        result = out[:, :whole].reshape(len(rows), -1, size).transpose(1, 0, 2)
        np.matmul(blocks, rows[None, :, :, None], out=result[..., None])
        np.matmul(self.weights[whole:], rows[:, :, None], out=out[:, whole:, None])


def split_rows(weights: Floats, n: int) -> list[Matrix]:
    """Cut weights [n_out, n_in] into at most n matrices of about equal size, in order."""
    return [Matrix(weights[begin:end]) for begin, end in cuts(len(weights), n)]


def cuts(total: int, n: int) -> list[tuple[int, int]]:
    """Cut a length into at most n parts that are multiples of the block, apart from the last."""
    n_blocks = -(-total // WIDE)
    bounds = [min(total, n_blocks * part // n * WIDE) for part in range(n + 1)]
    return [(begin, end) for begin, end in pairwise(bounds) if begin < end]
