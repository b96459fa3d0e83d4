"""KV types without blocks: f32, f16, bf16."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats, Stored

__all__ = ["BF16", "F16", "F32", "widen_f16"]

_F16_MANTISSA_SHIFT = 13
_F16_SIGN_EXPONENT_MANTISSA = np.int32(-0x70000001)


def widen_f16(bits: NDArray[np.int16], out: Floats) -> None:
    """Widen f16 bit patterns into out, of the same shape, as values / 2^112; infinities count as ±65536.

    The sign-extended pattern moved up 13 places has sign and mantissa where float32 wants them and an exponent that
    is too small by 112, subnormals included. This is several times as fast as ``astype``.
    """
    work = out.view(np.int32)
    work[...] = bits
    np.left_shift(work, _F16_MANTISSA_SHIFT, out=work)
    np.bitwise_and(work, _F16_SIGN_EXPONENT_MANTISSA, out=work)


class F32:
    """IEEE single precision."""

    name = "f32"
    ggml_id = 0
    block_values = 1
    block_bytes = 4
    scale = np.float32(1)

    def zeros(self, rows: tuple[int, ...], n_values: int) -> Stored:
        """Allocate float32 items."""
        return np.zeros((*rows, n_values), np.float32)

    def encode(self, values: Floats) -> Stored:
        """Keep the values."""
        return values

    def decode(self, stored: Stored, out: Floats) -> None:
        """Copy the values."""
        out[...] = stored


class F16:
    """IEEE half precision, held as int16 bit patterns."""

    name = "f16"
    ggml_id = 1
    block_values = 1
    block_bytes = 2
    scale = np.float32(2.0**112)

    def zeros(self, rows: tuple[int, ...], n_values: int) -> Stored:
        """Allocate int16 items."""
        return np.zeros((*rows, n_values), np.int16)

    def encode(self, values: Floats) -> Stored:
        """Round to nearest even."""
        return values.astype(np.float16).view(np.int16)

    def decode(self, stored: Stored, out: Floats) -> None:
        """Widen exactly, apart from the scale."""
        widen_f16(stored, out)


class BF16:
    """The upper half of a float32, held as uint16 bit patterns."""

    name = "bf16"
    ggml_id = 30
    block_values = 1
    block_bytes = 2
    scale = np.float32(1)

    def zeros(self, rows: tuple[int, ...], n_values: int) -> Stored:
        """Allocate uint16 items."""
        return np.zeros((*rows, n_values), np.uint16)

    def encode(self, values: Floats) -> Stored:
        """Round to nearest even; NaN becomes a quiet NaN."""
        bits = np.ascontiguousarray(values).view(np.uint32)
        rounded = (bits + (np.uint32(0x7FFF) + ((bits >> 16) & 1))) >> 16
        quiet = (bits >> 16) | 64
        is_nan = (bits & 0x7FFFFFFF) > 0x7F800000
        return np.where(is_nan, quiet, rounded).astype(np.uint16)

    def decode(self, stored: Stored, out: Floats) -> None:
        """Widen exactly."""
        work = out.view(np.uint32)
        work[...] = stored
        np.left_shift(work, 16, out=work)
