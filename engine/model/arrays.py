"""Names for the arrays that the room hands around; each docstring says which shape it means."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["CellIds", "Floats", "Stored", "TokenIds"]

TokenIds = NDArray[np.int32]
CellIds = NDArray[np.intp]
Floats = NDArray[np.float32]
Stored = NDArray[Any]
"""Items of one storage type: float32, int16 (f16), uint16 (bf16) or uint8 (blocks)."""
