"""Weights as files store them, turned into float32: plain floats, block quants and K-quants of llama.cpp.

A tensor is a run of blocks; each block holds ``block_values`` neighbouring weights in ``block_bytes`` bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ..arrays import Floats

__all__ = ["OTHER_TYPES", "QUANTS", "QUANTS_BY_NAME", "Quant", "dequantize"]

Bytes: TypeAlias = NDArray[np.uint8]
Decoder: TypeAlias = Callable[[Bytes, Floats], None]

CHUNK_VALUES = 1 << 16


class Quant(Struct, frozen=True):
    """One tensor type. ``decode(blocks, out)``: [n, block_bytes] to [n, block_values]."""

    type_id: int
    name: str
    block_values: int
    block_bytes: int
    decode: Decoder


def dequantize(name: str, raw: Bytes, out: Floats) -> None:
    """Decode the blocks in ``raw`` [bytes] into ``out`` [values], both flat and contiguous.

    Works in pieces that fit the processor's cache.
    """
    quant = QUANTS_BY_NAME[name]
    blocks = raw.reshape(-1, quant.block_bytes)
    rows = out.reshape(-1, quant.block_values)
    step = max(1, CHUNK_VALUES // quant.block_values)
    with np.errstate(all="ignore"):
        for start in range(0, len(blocks), step):
            quant.decode(blocks[start : start + step], rows[start : start + step])


def _halves(blocks: Bytes, offset: int) -> Floats:
    """The float16 at an even ``offset`` of every block: [n, 1]."""
    return blocks.view("<f2")[:, offset // 2, None].astype(np.float32)


def _nibbles(packed: Bytes, out: Floats) -> None:
    """Low halves of the bytes fill the first half of ``out``'s row, high halves the second."""
    half = packed.shape[-1]
    np.bitwise_and(packed, 15, out=out[..., :half], casting="unsafe")
    np.right_shift(packed, 4, out=out[..., half:], casting="unsafe")


def _decode_f32(blocks: Bytes, out: Floats) -> None:
    out[...] = blocks.view("<f4")


def _decode_f16(blocks: Bytes, out: Floats) -> None:
    out[...] = blocks.view("<f2")


def _decode_bf16(blocks: Bytes, out: Floats) -> None:
    np.left_shift(blocks.view("<u2"), 16, out=out.view(np.uint32), dtype=np.uint32)


def _decode_q8_0(blocks: Bytes, out: Floats) -> None:
    np.multiply(blocks[:, 2:].view(np.int8), _halves(blocks, 0), out=out)


def _decode_q4_0(blocks: Bytes, out: Floats) -> None:
    _nibbles(blocks[:, 2:], out)
    out -= 8
    out *= _halves(blocks, 0)


def _decode_q4_1(blocks: Bytes, out: Floats) -> None:
    _nibbles(blocks[:, 4:], out)
    out *= _halves(blocks, 0)
    out += _halves(blocks, 2)


def _fifth_bits(blocks: Bytes, offset: int) -> Floats:
    """The 32 bits at ``offset`` of every block, worth 16 each: [n, 32]."""
    bits = np.unpackbits(blocks[:, offset : offset + 4], axis=1, bitorder="little")
    return np.multiply(bits, 16, dtype=np.float32)


def _decode_q5_0(blocks: Bytes, out: Floats) -> None:
    _nibbles(blocks[:, 6:], out)
    out += _fifth_bits(blocks, 2)
    out -= 16
    out *= _halves(blocks, 0)


def _decode_q5_1(blocks: Bytes, out: Floats) -> None:
    _nibbles(blocks[:, 8:], out)
    out += _fifth_bits(blocks, 4)
    out *= _halves(blocks, 0)
    out += _halves(blocks, 2)


def _crumbs(packed: Bytes) -> Bytes:
    """Two-bit fields of [n, 64] bytes: [n, 2, 4, 32], four fields for each half of the bytes."""
    shifts = np.arange(0, 8, 2, dtype=np.uint8).reshape(1, 1, 4, 1)
    fields: Bytes = np.bitwise_and(packed.reshape(-1, 2, 1, 32) >> shifts, np.uint8(3))
    return fields


def _decode_q2_k(blocks: Bytes, out: Floats) -> None:
    scales = blocks[:, :16, None]
    values = out.reshape(-1, 16, 16)
    values[...] = _crumbs(blocks[:, 16:80]).reshape(-1, 16, 16)
    values *= _halves(blocks, 80)[:, None] * (scales & 15)
    values -= _halves(blocks, 82)[:, None] * (scales >> 4)


def _decode_q3_k(blocks: Bytes, out: Floats) -> None:
    shifts = np.arange(8, dtype=np.uint8).reshape(1, 8, 1)
    missing = (blocks[:, None, :32] >> shifts & 1) ^ 1
    low = _crumbs(blocks[:, 32:96]).reshape(-1, 8, 32)
    values = out.reshape(-1, 16, 16)
    values[...] = low.reshape(-1, 16, 16)
    values -= (missing << 2).reshape(-1, 16, 16)
    values *= (_halves(blocks, 108) * _scales_q3_k(blocks[:, 96:108]))[:, :, None]


def _scales_q3_k(packed: Bytes) -> Floats:
    """Sixteen six-bit scales less 32 from twelve bytes: [n, 12] to [n, 16]."""
    low = np.concatenate([packed[:, :8] & 15, packed[:, :8] >> 4], axis=1)
    shifts = np.arange(0, 8, 2, dtype=np.uint8).reshape(1, 4, 1)
    high = (packed[:, None, 8:] >> shifts & 3).reshape(-1, 16)
    scales: Floats = (low | high << 4).astype(np.float32)
    scales -= 32
    return scales


def _scales_k4(packed: Bytes) -> tuple[Bytes, Bytes]:
    """Eight six-bit scales and minima of Q4_K and Q5_K: [n, 12] to two times [n, 8]."""
    first, second, rest = packed[:, :4], packed[:, 4:8], packed[:, 8:]
    scales = np.concatenate([first & 63, rest & 15 | first >> 6 << 4], axis=1)
    minima = np.concatenate([second & 63, rest >> 4 | second >> 6 << 4], axis=1)
    return scales, minima


def _decode_q4_k(blocks: Bytes, out: Floats) -> None:
    scales, minima = _scales_k4(blocks[:, 4:16])
    _nibbles(blocks[:, 16:].reshape(-1, 4, 32), out.reshape(-1, 4, 64))
    values = out.reshape(-1, 8, 32)
    values *= (_halves(blocks, 0) * scales)[:, :, None]
    values -= (_halves(blocks, 2) * minima)[:, :, None]


def _decode_q5_k(blocks: Bytes, out: Floats) -> None:
    scales, minima = _scales_k4(blocks[:, 4:16])
    shifts = np.arange(8, dtype=np.uint8).reshape(1, 8, 1)
    _nibbles(blocks[:, 48:].reshape(-1, 4, 32), out.reshape(-1, 4, 64))
    values = out.reshape(-1, 8, 32)
    values += (blocks[:, None, 16:48] >> shifts & 1) << 4
    values *= (_halves(blocks, 0) * scales)[:, :, None]
    values -= (_halves(blocks, 2) * minima)[:, :, None]


def _decode_q6_k(blocks: Bytes, out: Floats) -> None:
    _nibbles(blocks[:, :128].reshape(-1, 2, 64), out.reshape(-1, 2, 128))
    values = out.reshape(-1, 16, 16)
    values += (_crumbs(blocks[:, 128:192]) << 4).reshape(-1, 16, 16)
    values -= 32
    values *= (_halves(blocks, 208) * blocks[:, 192:208].view(np.int8))[:, :, None]


QUANTS = {
    quant.type_id: quant
    for quant in (
        Quant(0, "F32", 1, 4, _decode_f32),
        Quant(1, "F16", 1, 2, _decode_f16),
        Quant(2, "Q4_0", 32, 18, _decode_q4_0),
        Quant(3, "Q4_1", 32, 20, _decode_q4_1),
        Quant(6, "Q5_0", 32, 22, _decode_q5_0),
        Quant(7, "Q5_1", 32, 24, _decode_q5_1),
        Quant(8, "Q8_0", 32, 34, _decode_q8_0),
        Quant(10, "Q2_K", 256, 84, _decode_q2_k),
        Quant(11, "Q3_K", 256, 110, _decode_q3_k),
        Quant(12, "Q4_K", 256, 144, _decode_q4_k),
        Quant(13, "Q5_K", 256, 176, _decode_q5_k),
        Quant(14, "Q6_K", 256, 210, _decode_q6_k),
        Quant(30, "BF16", 1, 2, _decode_bf16),
    )
}
"""Tensor types by the number that files use for them."""

QUANTS_BY_NAME = {quant.name: quant for quant in QUANTS.values()}

OTHER_TYPES = {
    9: "Q8_1",
    15: "Q8_K",
    16: "IQ2_XXS",
    17: "IQ2_XS",
    18: "IQ3_XXS",
    19: "IQ1_S",
    20: "IQ4_NL",
    21: "IQ3_S",
    22: "IQ2_S",
    23: "IQ4_XS",
    24: "I8",
    25: "I16",
    26: "I32",
    27: "I64",
    28: "F64",
    29: "IQ1_M",
    34: "TQ1_0",
    35: "TQ2_0",
    39: "MXFP4",
    40: "NVFP4",
    41: "Q1_0",
    42: "Q2_0",
}
"""Names of types that files may have and that are not read here."""
