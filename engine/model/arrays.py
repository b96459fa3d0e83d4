"""Names for the arrays that the room hands around; each docstring says which shape it means."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["CellIds", "Floats", "Stored", "TokenIds", "as_slice"]

TokenIds = NDArray[np.int32]
CellIds = NDArray[np.intp]
Floats = NDArray[np.float32]
Stored = NDArray[Any]
"""Items of one storage type: float32, int16 (f16), uint16 (bf16) or uint8 (blocks)."""


def as_slice(rows: CellIds) -> CellIds | slice:
    """Row numbers [n], n > 0, as a slice where they follow each other: NumPy is quicker without a list of them."""
    first, last = int(rows[0]), int(rows[-1])
    if last - first + 1 == len(rows) and (np.diff(rows) == 1).all():
        return slice(first, last + 1)
    return rows
