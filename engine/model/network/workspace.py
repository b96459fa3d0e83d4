"""Scratch arrays that are allocated once and handed out again in every layer and step."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..arrays import Floats, Stored

__all__ = ["Workspace"]


class Workspace:
    """Named buffers that only grow. What was taken under a name is valid until that name is taken again."""

    def __init__(self) -> None:
        self._buffers: dict[str, NDArray[np.uint8]] = {}

    def floats(self, name: str, *shape: int) -> Floats:
        """Uninitialised float32 array of a shape."""
        return self.items(name, np.float32, *shape)

    def items(self, name: str, dtype: DTypeLike, *shape: int) -> Stored:
        """Uninitialised array of a type and shape."""
        n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
        buffer = self._buffers.get(name)
        if buffer is None or buffer.nbytes < n_bytes:
            buffer = self._buffers[name] = np.empty(n_bytes + n_bytes // 4, np.uint8)
        return buffer[:n_bytes].view(dtype).reshape(shape)
