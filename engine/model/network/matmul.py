"""Products of a weight matrix with a few or many rows.

OpenBLAS copies the weights into a packed form at every large product, which costs more than the product of a few
rows. Small products have a kernel without that step on AVX-512 processors. There the weights are held in blocks small
enough for it, in the order in which it reads them, so that a few rows cost no more than reading the weights from
memory; one gufunc call runs over all blocks. The rounding of a row then does not depend on the rows beside it, whatever
their number. Elsewhere the weights stay as in model files; few rows are taken as matrix-vector products in blocks that
stay in the cache, many as one product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats
from ..threads.blas import has_small_kernel
from ..threads.crew import Crew

__all__ = ["Matrix", "Product", "padded", "padded_size", "product_of", "split_columns", "usable_rows", "useful_parts"]

BLOCK = 32
"""Weight rows of a block."""
MOST_OUTPUTS = 1024
"""Rows × columns of a result up to which the small kernel is used by OpenBLAS (its limit is 1,200)."""
MOST_PRODUCTS = 1_000_000
"""Multiplications up to which it is used."""
VECTOR_BLOCK_BYTES = 1 << 18
"""Without the small kernel: bytes of weights that stay in the cache while they meet all rows."""
FEW_ROWS = 12
"""Without the small kernel: rows from which on one large product is quicker."""

LEAST_WEIGHTS_TO_SHARE = 1 << 18
"""Weights from which on reading them alone is worth the hand-over to other threads."""
LEAST_TO_SHARE = 1 << 25
"""Multiplications from which on a product with fewer weights is worth it, also where the other cores are busy."""

Operands = tuple[Floats, Floats]


def usable_rows(n: int) -> int:
    """Rows to compute for n: a single one would be a matrix-vector product, which rounds differently."""
    return max(n, 2)


class Matrix:
    """Weights [n_out, n_in] in whole blocks: the rows from ``n_out`` to ``n_padded`` are zeros.

    ``blocks``: [b, n_in, BLOCK] where there is a small kernel, else None. ``bias``: [n_padded], to be added to what the
    matrix gives.
    """

    def __init__(self, n_out: int, n_in: int, memory: Floats | None = None) -> None:
        """``memory``: `padded_size` zeros to use."""
        if memory is None:
            memory = np.zeros(padded_size(n_out, n_in), np.float32)
        self.n_out, self.n_in = n_out, n_in
        self.n_padded = memory.size // n_in
        self.bias: Floats | None = None
        self.blocks = memory.reshape(-1, n_in, BLOCK) if has_small_kernel() else None
        self._rows = memory.reshape(-1, BLOCK, n_in) if self.blocks is None else self.blocks.transpose(0, 2, 1)

    @classmethod
    def of(cls, weights: Floats) -> Matrix:
        """A copy of weights [n_out, n_in]."""
        n_out, n_in = weights.shape
        matrix = cls(n_out, n_in)
        matrix.fill(weights)
        return matrix

    def fill(self, weights: Floats, bias: Floats | None = None) -> None:
        """Take the weights [n_out, n_in] and the bias [n_out]."""
        whole, rest = divmod(self.n_out, BLOCK)
        self._rows[:whole] = weights[: whole * BLOCK].reshape(whole, BLOCK, self.n_in)
        self._rows[whole:, :rest] = weights[whole * BLOCK :]
        if bias is not None:
            self.bias = np.pad(bias, (0, self.n_padded - self.n_out))

    def rows(self, numbers: NDArray[np.integer]) -> Floats:
        """Weights of some rows [n, n_in]."""
        weights: Floats = self._rows[numbers // BLOCK, numbers % BLOCK]
        return weights

    def columns(self, part: slice) -> Floats:
        """Plain weights of whole blocks, for the columns they compute: [n, n_in]."""
        return self._rows[part.start // BLOCK : part.stop // BLOCK].reshape(-1, self.n_in)


def padded(n_out: int) -> int:
    """Rows of a matrix in whole blocks."""
    return -(-n_out // BLOCK) * BLOCK


def padded_size(n_out: int, n_in: int) -> int:
    """Values of a matrix in whole blocks."""
    return padded(n_out) * n_in


def _most_rows(n_in: int) -> int:
    """Rows that the small kernel takes at once with a block."""
    return max(2, min(MOST_OUTPUTS, MOST_PRODUCTS // n_in) // BLOCK)


def useful_parts(rows: Floats, out: Floats, n_threads: int) -> int:
    """How many threads a `Product` of this size is worth."""
    n_weights = rows.shape[1] * out.shape[1]
    return n_threads if n_weights >= LEAST_WEIGHTS_TO_SHARE or len(rows) * n_weights >= LEAST_TO_SHARE else 1


def product_of(rows: Floats, out: Floats, n_threads: int) -> Product:
    """A product shared among as many threads as it is worth."""
    return Product(rows, out, useful_parts(rows, out, n_threads))


def split_columns(n_padded: int, n_parts: int) -> list[slice]:
    """Cut the columns of a result into at most ``n_parts`` of whole blocks."""
    n_blocks = n_padded // BLOCK
    bounds = [n_blocks * part // n_parts * BLOCK for part in range(n_parts + 1)]
    return [slice(a, b) for a, b in pairwise(bounds) if a < b]


class Product:
    """out [n, n_padded] = rows [n, n_in] × the transpose of a matrix, for any matrix of one shape.

    ``rows`` and ``out`` stay the same arrays; their content changes. Views and calls are made once for each matrix: a
    step of a small model takes hundreds of products.
    """

    def __init__(self, rows: Floats, out: Floats, n_parts: int) -> None:
        self.rows, self.out = rows, out
        self._made: dict[Matrix, list[Callable[[], None]]] = {}
        self._columns = split_columns(out.shape[1], n_parts)
        self._chunks = [self._cut(part) for part in self._columns] if has_small_kernel() else []

    def _cut(self, columns: slice) -> list[Operands]:
        """Operands for the small kernel: rows [1, c, m, n_in] and result [b, c, m, BLOCK] with b blocks of weights.

        The n rows are c chunks of m rows, as many as the kernel takes at once, and a block meets all of them while it
        is in the cache. Rows left over are a pair of operands of their own; a lone one takes the row before it along,
        which is computed twice.
        """
        (n, n_in), out = self.rows.shape, self.out[:, columns]
        chunk = -(-n // -(-n // _most_rows(n_in)))
        end = n // chunk * chunk
        bounds = [(0, end, chunk)]
        if end < n:
            bounds.append((n - usable_rows(n - end), n, usable_rows(n - end)))
        return [
            (
                self.rows[first:last].reshape(1, -1, m, n_in),
                out[first:last].reshape(-1, m, out.shape[1] // BLOCK, BLOCK).transpose(2, 0, 1, 3),
            )
            for first, last, m in bounds
        ]

    def run(self, matrix: Matrix, crew: Crew) -> None:
        """Compute the product with a matrix, and add its bias."""
        crew.run(self.tasks(matrix))
        if matrix.bias is not None:
            np.add(self.out, matrix.bias, out=self.out)

    def tasks(self, matrix: Matrix) -> list[Callable[[], None]]:
        """Calls, one for each thread, that together compute the product with a matrix; each computes some columns."""
        if matrix not in self._made:
            self._made[matrix] = self._make_tasks(matrix)
        return self._made[matrix]

    def _make_tasks(self, matrix: Matrix) -> list[Callable[[], None]]:
        if matrix.blocks is None:
            return [partial(_plain, matrix.columns(part), self.rows, self.out[:, part]) for part in self._columns]
        parts = [matrix.blocks[part.start // BLOCK : part.stop // BLOCK, None] for part in self._columns]
        return [partial(_multiply, chunks, blocks) for blocks, chunks in zip(parts, self._chunks, strict=True)]


def _multiply(chunks: Sequence[Operands], blocks: Floats) -> None:
    """Some columns, with the small kernel."""
    for rows, out in chunks:
        np.matmul(rows, blocks, out=out)


def _plain(weights: Floats, rows: Floats, out: Floats) -> None:
    """Some columns, where there is no small kernel."""
    if len(rows) >= FEW_ROWS:
        np.matmul(rows, weights.T, out=out)
        return
    size = max(1, VECTOR_BLOCK_BYTES // weights[0].nbytes)
    for first in range(0, len(weights), size):
        block = weights[first : first + size]
        np.matmul(block, rows[:, :, None], out=out[:, first : first + len(block), None])
