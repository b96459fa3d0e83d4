"""Products: right for every shape and number of rows, and alike whatever rows stand beside."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from slotview.engine.model.network import matmul
from slotview.engine.model.network.matmul import Matrix, Product, split_columns
from slotview.engine.model.threads.blas import has_small_kernel, one_thread

SHAPES = [(96, 96), (89, 96), (576, 1536), (320, 64), (64, 5000), (33, 7)]
ROWS = [2, 3, 5, 8, 17, 31, 32, 33, 63, 65, 129, 300]


def weights_of(n_out: int, n_in: int) -> NDArray[np.float32]:
    return np.random.default_rng(1).standard_normal((n_out, n_in)).astype(np.float32)


def product(matrix: Matrix, rows: NDArray[np.float32], n_parts: int) -> NDArray[np.float32]:
    out = np.full((len(rows), matrix.n_padded), np.nan, np.float32)
    with one_thread():
        for task in Product(rows, out, n_parts).tasks(matrix):
            task()
    return out[:, : matrix.n_out]


@pytest.mark.parametrize("small", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_products_are_right(shape: tuple[int, int], small: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matmul, "has_small_kernel", lambda: small)
    weights = weights_of(*shape)
    matrix = Matrix.of(weights)
    rows = weights_of(max(ROWS), shape[1])
    wanted = rows.astype(np.float64) @ weights.T.astype(np.float64)
    for n in ROWS:
        for n_parts in (1, 2, 3):
            np.testing.assert_allclose(product(matrix, rows[:n], n_parts), wanted[:n], atol=2e-5 * shape[1])


@pytest.mark.skipif(not has_small_kernel(), reason="this processor's BLAS packs its operands")
@pytest.mark.parametrize("shape", SHAPES)
def test_rounding_does_not_depend_on_other_rows(shape: tuple[int, int]) -> None:
    matrix = Matrix.of(weights_of(*shape))
    rows = weights_of(max(ROWS), shape[1])
    wanted = product(matrix, rows, 1)
    for n in ROWS:
        np.testing.assert_array_equal(product(matrix, rows[:n], 2), wanted[:n])


@pytest.mark.parametrize("small", [True, False])
def test_rows_are_given_back(small: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matmul, "has_small_kernel", lambda: small)
    weights = weights_of(89, 96)
    numbers = np.array([88, 0, 31, 32, 63, 64, 5])
    np.testing.assert_array_equal(Matrix.of(weights).rows(numbers), weights[numbers])


def test_columns_are_split_into_whole_blocks() -> None:
    assert split_columns(96, 2) == [slice(0, 32), slice(32, 96)]
    assert split_columns(32, 4) == [slice(0, 32)]
