"""Products of a weight matrix with a few or many rows.

OpenBLAS copies the weights into a packed form at every large product, which costs more than the product of a few
rows. Small products have a kernel without that step on AVX-512 processors: a matrix is taken in blocks that are small
enough for it; one gufunc call runs over all of them. The rounding of a row then does not depend on the rows beside it,
whatever their number. Elsewhere few rows are taken as matrix-vector products in blocks that stay in the cache, many as
one product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from .blas import has_small_kernel
from .kv_types_float import Floats

__all__ = ["Matrix", "Product", "padded", "padded_size", "split_columns", "usable_rows"]

NARROW, WIDE = 16, 32
"""Weight rows of a block: wide ones for few rows."""
MOST_OUTPUTS = 1024
"""Rows × columns of a result up to which the small kernel is used by OpenBLAS (its limit is 1,200)."""
MOST_PRODUCTS = 1_000_000
"""Multiplications up to which it is used."""
VECTOR_BLOCK_BYTES = 1 << 18
FEW_ROWS = 12

Operands = tuple[Floats, Floats, Floats]


def usable_rows(n: int) -> int:
    """Rows to compute for n: a single one would be a matrix-vector product, which rounds differently."""
    return max(n, 2)


class Matrix:
    """Weights [n_padded, n_in], row-major as in model files; of whole blocks, rows from ``n_out`` on being zeros."""

    def __init__(self, weights: Floats, n_out: int) -> None:
        self.weights = weights
        self.n_padded, self.n_in = weights.shape
        self.n_out = n_out
        self.used = weights[:n_out]
        self.wide, self.narrow = (self._blocks(size) for size in (WIDE, NARROW))

    def _blocks(self, size: int) -> Floats:
        """Transposed blocks [b, 1, n_in, size]."""
        return self.weights.reshape(-1, 1, size, self.n_in).transpose(0, 1, 3, 2)


def padded_size(n_out: int, n_in: int) -> int:
    """Values of a matrix padded to whole blocks."""
    return -(-n_out // WIDE) * WIDE * n_in


def padded(weights: Floats) -> Matrix:
    """A matrix of weights [n_out, n_in], copied where blocks do not come out even."""
    missing = -len(weights) % WIDE
    return Matrix(np.pad(weights, ((0, missing), (0, 0))) if missing else weights, len(weights))


def _most_rows(size: int, n_in: int) -> int:
    """Rows that may meet a block of ``size`` weight rows at once."""
    return max(2, min(MOST_OUTPUTS, MOST_PRODUCTS // n_in) // size)


def split_columns(n_padded: int, n_parts: int) -> list[slice]:
    """Cut the columns of a result into at most ``n_parts`` of whole blocks."""
    n_blocks = n_padded // WIDE
    bounds = [n_blocks * part // n_parts * WIDE for part in range(n_parts + 1)]
    return [slice(a, b) for a, b in pairwise(bounds) if a < b]


class Product:
    """rows [n, n_in] times any matrix of one shape, transposed, into out [n, n_padded].

    `tasks` gives one call for each thread, each for its columns. Views and calls are made once: a step of a small model
    takes hundreds of products.
    """

    def __init__(self, rows: Floats, out: Floats, n_parts: int) -> None:
        self.rows, self.out = rows, out
        self._made: dict[Matrix, list[Callable[[], None]]] = {}
        self._columns = split_columns(out.shape[1], n_parts)
        if not has_small_kernel():
            self._wide, self._chunks = False, []
            return
        self._wide = len(rows) <= _most_rows(WIDE, rows.shape[1])
        size = WIDE if self._wide else NARROW
        self._chunks = [self._cut(part, size) for part in self._columns]
        self._blocks = [slice(part.start // size, part.stop // size) for part in self._columns]

    def _cut(self, columns: slice, size: int) -> list[tuple[Floats, Floats]]:
        """Rows [1, c, m, n_in] and result [b, c, m, size]: a block meets all chunks while it is in the cache."""
        (n, n_in), out = self.rows.shape, self.out[:, columns]
        chunk = -(-n // -(-n // _most_rows(size, n_in)))
        end = n // chunk * chunk
        bounds = [(0, end, chunk)]
        if end < n:
            bounds.append((n - usable_rows(n - end), n, usable_rows(n - end)))
        return [
            (
                self.rows[first:last].reshape(1, -1, m, n_in),
                out[first:last].reshape(-1, m, out.shape[1] // size, size).transpose(2, 0, 1, 3),
            )
            for first, last, m in bounds
        ]

    def tasks(self, matrix: Matrix) -> list[Callable[[], None]]:
        """Calls that together compute the product with a matrix."""
        if matrix not in self._made:
            self._made[matrix] = self._make_tasks(matrix)
        return self._made[matrix]

    def _make_tasks(self, matrix: Matrix) -> list[Callable[[], None]]:
        if not self._chunks:
            return [partial(_plain, matrix, self.rows, self.out, part) for part in self._columns]
        blocks = matrix.wide if self._wide else matrix.narrow
        parts = [blocks[part] for part in self._blocks]
        return [partial(_multiply, chunks, b) for b, chunks in zip(parts, self._chunks, strict=True)]

    def all(self, matrix: Matrix) -> None:
        """Compute the product on this thread."""
        for task in self.tasks(matrix):
            task()


def _multiply(chunks: Sequence[tuple[Floats, Floats]], blocks: Floats) -> None:
    for rows, out in chunks:
        np.matmul(rows, blocks, out=out)


def _plain(matrix: Matrix, rows: Floats, out: Floats, columns: slice) -> None:
    weights, result = matrix.weights[columns], out[:, columns]
    if len(rows) >= FEW_ROWS:
        np.matmul(rows, weights.T, out=result)
        return
    size = max(1, VECTOR_BLOCK_BYTES // (4 * matrix.n_in))
    for first in range(0, len(weights), size):
        block = weights[first : first + size]
        np.matmul(block, rows[:, :, None], out=result[:, first : first + len(block), None])
