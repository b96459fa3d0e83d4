"""KV types with a scale for every 32 values: q8_0, q5_1, q5_0, q4_1, q4_0, iq4_nl.

Rounding follows ggml's reference quantizers, so that saved slots can be exchanged with llama-server (spec §7.5). With
four bits value j stands in the low and value j + 16 in the high half of byte j; fifth bits stand in a u32.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats, Stored
from ..gguf.quants import QUANTS

__all__ = ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Iq4Nl"]

BLOCK = 32
HALF = BLOCK // 2
Codes = NDArray[np.uint8]

_IQ4_VALUES = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.float32)
_IQ4_MIDDLES = (_IQ4_VALUES[1:] + _IQ4_VALUES[:-1]) / 2
_IQ4_SMALLEST = np.float32(1e-15)


def _inverse(scale: Floats) -> Floats:
    """1 / scale, and 0 where scale is 0."""
    return np.divide(np.float32(1), scale, out=np.zeros_like(scale), where=scale != 0)


def _furthest(blocks: Floats) -> Floats:
    """The value of largest magnitude of each block, with its sign; the first of equals. [..., 32] -> [..., 1]"""
    where = np.abs(blocks).argmax(axis=-1, keepdims=True)
    return np.take_along_axis(blocks, where, axis=-1)


def _put_half(target: Stored, start: int, values: Floats) -> None:
    """Store values [..., 1] as f16 at byte ``start`` of blocks [..., bytes]."""
    target[..., start : start + 2] = values.astype(np.float16).view(np.uint8)


def _get_half(stored: Stored, start: int) -> Floats:
    """Inverse of `_put_half`."""
    return np.ascontiguousarray(stored[..., start : start + 2]).view(np.float16).astype(np.float32)


def _put_nibbles(target: Stored, start: int, codes: Codes) -> None:
    """Store the low four bits of codes [..., 32] in 16 bytes."""
    low = codes & 0x0F
    target[..., start : start + HALF] = low[..., :HALF] | (low[..., HALF:] << 4)


def _get_nibbles(stored: Stored, start: int) -> Codes:
    """Inverse of `_put_nibbles`: codes [..., 32]."""
    packed = stored[..., start : start + HALF]
    codes = np.empty((*packed.shape[:-1], BLOCK), np.uint8)
    np.bitwise_and(packed, 0x0F, out=codes[..., :HALF])
    np.right_shift(packed, 4, out=codes[..., HALF:])
    return codes


def _put_fifth_bits(target: Stored, start: int, codes: Codes) -> None:
    """Store bit 4 of codes [..., 32] in 4 bytes."""
    target[..., start : start + 4] = np.packbits(codes >> 4 & 1, axis=-1, bitorder="little")


class BlockType:
    """What the block types share: rows are [..., blocks × block_bytes] of uint8."""

    name: str
    ggml_id: int
    block_values = BLOCK
    scale = np.float32(1)
    block_bytes: int

    def zeros(self, rows: tuple[int, ...], n_values: int) -> Stored:
        """Allocate bytes."""
        return np.zeros((*rows, n_values // BLOCK * self.block_bytes), np.uint8)

    def encode(self, values: Floats) -> Stored:
        """Quantize rows [..., n] to bytes."""
        *rows, n_values = values.shape
        blocks = values.reshape(*rows, n_values // BLOCK, BLOCK)
        stored = np.zeros((*blocks.shape[:-1], self.block_bytes), np.uint8)
        self._quantize(blocks, stored)
        return stored.reshape(*rows, -1)

    def decode(self, stored: Stored, out: Floats) -> None:
        """Dequantize bytes into rows [..., n]."""
        self._dequantize(stored.reshape(-1, self.block_bytes), out.reshape(-1, BLOCK))

    def _quantize(self, blocks: Floats, stored: Stored) -> None:
        """Round blocks [..., 32] to bytes [..., block_bytes], which are zeros."""
        raise NotImplementedError

    def _dequantize(self, blocks: Stored, out: Floats) -> None:
        """Widen blocks [n, block_bytes] into out [n, 32], as weights of the same type are."""
        QUANTS[self.ggml_id].decode(blocks, out)


class Q8_0(BlockType):  # noqa: N801
    """f16 scale, 32 × int8."""

    name = "q8_0"
    ggml_id = 8
    block_bytes = 34

    def _quantize(self, blocks: Floats, stored: Stored) -> None:
        scale = np.abs(blocks).max(axis=-1, keepdims=True) / np.float32(127)
        scaled = blocks * _inverse(scale)
        codes = np.copysign(np.floor(np.abs(scaled) + np.float32(0.5)), scaled)
        _put_half(stored, 0, scale)
        stored[..., 2:] = codes.astype(np.int8).view(np.uint8)


class _Symmetric(BlockType):
    """f16 scale, codes around a middle; the value of largest magnitude becomes the lowest code."""

    bits: int

    def _quantize(self, blocks: Floats, stored: Stored) -> None:
        middle = 1 << (self.bits - 1)
        scale = _furthest(blocks) / np.float32(-middle)
        scaled = blocks * _inverse(scale) + np.float32(middle + 0.5)
        codes = np.minimum(scaled, np.float32(2 * middle - 1)).astype(np.uint8)
        _put_half(stored, 0, scale)
        if self.bits == 5:
            _put_fifth_bits(stored, 2, codes)
        _put_nibbles(stored, self.block_bytes - HALF, codes)


class _Affine(BlockType):
    """f16 scale and f16 minimum, codes from the minimum up."""

    bits: int

    def _quantize(self, blocks: Floats, stored: Stored) -> None:
        top = np.float32((1 << self.bits) - 1)
        lowest = blocks.min(axis=-1, keepdims=True)
        scale = (blocks.max(axis=-1, keepdims=True) - lowest) / top
        scaled = (blocks - lowest) * _inverse(scale) + np.float32(0.5)
        codes = np.minimum(scaled, top).astype(np.uint8)
        _put_half(stored, 0, scale)
        _put_half(stored, 2, lowest)
        if self.bits == 5:
            _put_fifth_bits(stored, 4, codes)
        _put_nibbles(stored, self.block_bytes - HALF, codes)


class Q4_0(_Symmetric):  # noqa: N801
    """f16 scale, 4-bit codes around 8."""

    name = "q4_0"
    ggml_id = 2
    block_bytes = 18
    bits = 4


class Q5_0(_Symmetric):  # noqa: N801
    """f16 scale, 5-bit codes around 16."""

    name = "q5_0"
    ggml_id = 6
    block_bytes = 22
    bits = 5


class Q4_1(_Affine):  # noqa: N801
    """f16 scale and minimum, 4-bit codes."""

    name = "q4_1"
    ggml_id = 3
    block_bytes = 20
    bits = 4


class Q5_1(_Affine):  # noqa: N801
    """f16 scale and minimum, 5-bit codes."""

    name = "q5_1"
    ggml_id = 7
    block_bytes = 24
    bits = 5


class Iq4Nl(BlockType):
    """f16 scale, 4-bit indices into a table of uneven steps; the scale is fitted, weighted by the squared values."""

    name = "iq4_nl"
    ggml_id = 20
    block_bytes = 18

    def _quantize(self, blocks: Floats, stored: Stored) -> None:
        furthest = _furthest(blocks)
        usable = np.abs(furthest) >= _IQ4_SMALLEST
        scaled = blocks * _inverse(np.where(usable, furthest / _IQ4_VALUES[0], np.float32(0)))
        codes = np.searchsorted(_IQ4_MIDDLES, scaled, side="right").astype(np.uint8)
        steps = _IQ4_VALUES[codes]
        weighted = blocks * blocks * steps
        norm = (weighted * steps).sum(axis=-1, keepdims=True)
        fitted = (weighted * blocks).sum(axis=-1, keepdims=True) * _inverse(norm)
        _put_half(stored, 0, np.where(usable, fitted, np.float32(0)))
        _put_nibbles(stored, 2, np.where(usable, codes, np.uint8(0)))

    def _dequantize(self, stored: Stored, out: Floats) -> None:
        np.take(_IQ4_VALUES, _get_nibbles(stored, 2), out=out, mode="clip")
        out *= _get_half(stored, 0)
