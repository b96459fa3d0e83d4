"""The types a KV cache can hold: their bytes, and how values become bytes and back (spec §3.1)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

import numpy as np

from ..arrays import Floats, Stored
from .kv_types_block import Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Iq4Nl
from .kv_types_float import BF16, F16, F32

__all__ = ["KV_TYPES", "KvType", "kv_type"]


class KvType(Protocol):
    """One storage type: blocks of ``block_values`` values that take ``block_bytes`` bytes."""

    @property
    def name(self) -> str:
        """Name as in ``-ctk``."""

    @property
    def ggml_id(self) -> int:
        """Number of the type in save files (spec §7.5)."""

    @property
    def block_values(self) -> int:
        """Values of one block."""

    @property
    def block_bytes(self) -> int:
        """Bytes of one block."""

    @property
    def scale(self) -> np.float32:
        """Factor that decoded values still lack."""

    def zeros(self, rows: tuple[int, ...], n_values: int) -> Stored:
        """Allocate ``rows`` × ``n_values`` values; pages that are never written are never committed."""

    def encode(self, values: Floats) -> Stored:
        """Round values [..., n] to stored items [..., items]."""

    def decode(self, stored: Stored, out: Floats) -> None:
        """Widen stored items [..., items] into out [..., n], contiguous, as values / ``scale``."""


KV_TYPES: Mapping[str, KvType] = MappingProxyType(
    {kind.name: kind for kind in (F32(), F16(), BF16(), Q8_0(), Q5_1(), Q5_0(), Q4_1(), Q4_0(), Iq4Nl())}
)


def kv_type(name: str) -> KvType:
    """Look a type up by its ``-ctk`` name. Raises `ValueError` for an unknown one."""
    try:
        return KV_TYPES[name]
    except KeyError:
        raise ValueError(f"Unsupported cache type: {name}") from None
