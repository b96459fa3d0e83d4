"""The head of a GGUF file: typed key-value pairs and the list of tensors, read without touching the weights.

Every count and length is checked against the file's size before anything of that size is allocated.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from functools import partial
from mmap import mmap
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from .quants import OTHER_TYPES, QUANTS

__all__ = ["GgufHeader", "ModelFileError", "Scalar", "TensorInfo", "read_header"]

Scalar: TypeAlias = str | int | float | bool
Array: TypeAlias = list[bytes] | NDArray[np.generic]
ByteSource: TypeAlias = bytes | mmap

MAX_DIMS = 4
ARRAY_TYPE = 9
STRING_TYPE = 8
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
DTYPES = {0: "u1", 1: "i1", 2: "<u2", 3: "<i2", 4: "<u4", 5: "<i4", 6: "<f4", 7: "?", 10: "<u8", 11: "<i8", 12: "<f8"}
U64 = struct.Struct("<Q")


class ModelFileError(Exception):
    """The file cannot be used as a model; the text is one line that says why."""


class TensorInfo(Struct, frozen=True):
    """Where one tensor lies. ``shape`` is NumPy's order: rows first, the contiguous dimension last."""

    name: str
    shape: tuple[int, ...]
    type_name: str
    offset: int
    n_values: int
    nbytes: int


class GgufHeader(Struct, frozen=True):
    """Everything before the weights. ``arrays`` holds strings as bytes and numbers as views into the file."""

    version: int
    scalars: Mapping[str, Scalar]
    arrays: Mapping[str, Array]
    tensors: Mapping[str, TensorInfo]


class _Cursor:
    """Reads little-endian values one after the other and never beyond the end."""

    def __init__(self, data: ByteSource) -> None:
        self.data = data
        self.pos = 0
        self.subject = "the header"

    def take(self, n: int) -> bytes:
        start, end = self.pos, self.pos + n
        if end > len(self.data):
            raise self.cut()
        self.pos = end
        return self.data[start:end]

    def cut(self) -> ModelFileError:
        return ModelFileError(f"truncated: the file ends inside {self.subject} (at byte {len(self.data):,})")

    def number(self, code: str) -> int | float | bool:
        layout = struct.Struct("<" + code)
        value: int | float | bool = layout.unpack(self.take(layout.size))[0]
        return value

    def count(self, what: str, item_size: int) -> int:
        """A number of items that each take at least ``item_size`` bytes of what is left of the file."""
        value: int = U64.unpack(self.take(8))[0]
        if value * item_size > len(self.data) - self.pos:
            raise ModelFileError(
                f"damaged or truncated: {self.subject} announces {value:,} {what}, more than the file can hold"
            )
        return value

    def u32(self) -> int:
        return int(self.number("I"))

    def text(self) -> bytes:
        return self.take(self.count("bytes of text", 1))

    def name(self) -> str:
        try:
            return self.text().decode()
        except UnicodeDecodeError:
            raise ModelFileError(f"damaged: {self.subject} has a name that is not UTF-8") from None


def read_header(data: ByteSource) -> GgufHeader:
    """Parse all of a GGUF file but its weights. Raises `ModelFileError`."""
    cursor = _Cursor(data)
    version = _read_version(cursor)
    n_tensors = cursor.count("tensors", 24)
    n_pairs = cursor.count("key-value pairs", 13)
    scalars: dict[str, Scalar] = {}
    arrays: dict[str, Array] = {}
    for number in range(n_pairs):
        cursor.subject = f"key-value pair {number + 1} of {n_pairs}"
        _read_pair(cursor, scalars, arrays)
    tensors = _read_tensors(cursor, n_tensors, _alignment(scalars))
    return GgufHeader(version, MappingProxyType(scalars), MappingProxyType(arrays), MappingProxyType(tensors))


def _read_version(cursor: _Cursor) -> int:
    magic = cursor.data[:4]
    if magic != b"GGUF":
        raise ModelFileError(_foreign(cursor.data[:40]))
    cursor.pos = 4
    version = cursor.u32()
    if version & 0xFFFF == 0 and version:
        raise ModelFileError("big-endian GGUF, only little-endian files can be read")
    if version not in (2, 3):
        raise ModelFileError(f"GGUF version {version} is not supported, only 2 and 3")
    return version


def _foreign(start: bytes) -> str:
    """What a file is that does not begin as GGUF files do."""
    known = {
        b"version https://git-lfs": "a Git LFS pointer, the model itself was not downloaded",
        b"PK\x03\x04": "a ZIP archive or PyTorch checkpoint",
        b"\x7fELF": "a program",
        b"FUGG": "a byte-swapped GGUF file",
        b"tjgg": "a model in the old GGML format",
        b"lmgg": "a model in the old GGML format",
        b"<!": "an HTML page",
    }
    for prefix, kind in known.items():
        if start.startswith(prefix):
            return f"not a GGUF file but {kind}"
    if start[8:10] == b'{"':
        return "not a GGUF file but safetensors"
    return f"not a GGUF file (it begins with {start[:4]!r})"


def _read_pair(cursor: _Cursor, scalars: dict[str, Scalar], arrays: dict[str, Array]) -> None:
    key = cursor.name()
    cursor.subject = f'the value of "{key}"'
    if key in scalars or key in arrays:
        raise ModelFileError(f'damaged: the key "{key}" appears twice')
    kind = cursor.u32()
    if kind == ARRAY_TYPE:
        arrays[key] = _read_array(cursor)
    elif kind == STRING_TYPE:
        scalars[key] = cursor.text().decode(errors="replace")
    else:
        scalars[key] = cursor.number(_scalar_code(cursor, kind))


def _scalar_code(cursor: _Cursor, kind: int) -> str:
    if kind not in SCALARS:
        raise ModelFileError(f"damaged: {cursor.subject} has the unknown type {kind}")
    return SCALARS[kind]


def _read_array(cursor: _Cursor) -> Array:
    kind = cursor.u32()
    if kind == STRING_TYPE:
        return _read_strings(cursor, cursor.count("texts", 8))
    if kind == ARRAY_TYPE:
        raise ModelFileError(f"{cursor.subject} is an array of arrays, which is not supported")
    dtype = np.dtype(DTYPES[kind]) if _scalar_code(cursor, kind) else np.dtype("u1")
    count = cursor.count("numbers", dtype.itemsize)
    start = cursor.pos
    cursor.pos += count * dtype.itemsize
    return np.frombuffer(cursor.data, dtype, count, start)


def _read_strings(cursor: _Cursor, count: int) -> list[bytes]:
    data, pos, size = cursor.data, cursor.pos, len(cursor.data)
    read_length = U64.unpack_from
    strings: list[bytes] = []
    for _ in range(count):
        start = pos + 8
        if start > size:
            raise cursor.cut()
        length: int = read_length(data, pos)[0]
        pos = start + length
        if pos > size:
            raise cursor.cut()
        strings.append(data[start:pos])
    cursor.pos = pos
    return strings


def _alignment(scalars: Mapping[str, Scalar]) -> int:
    value = scalars.get("general.alignment", 32)
    if not isinstance(value, int) or value <= 0 or value % 8:
        raise ModelFileError(f"damaged: general.alignment is {value!r}, not a multiple of 8")
    return value


def _read_tensors(cursor: _Cursor, count: int, alignment: int) -> dict[str, TensorInfo]:
    """The list of tensors, checked to lie one after the other with only padding between them."""
    placed: list[Callable[[int], TensorInfo]] = []
    for number in range(count):
        cursor.subject = f"the entry of tensor {number + 1} of {count}"
        placed.append(_read_tensor(cursor))
    begin = end = cursor.pos + -cursor.pos % alignment
    tensors: dict[str, TensorInfo] = {}
    for place in placed:
        info = place(begin)
        if info.name in tensors:
            raise ModelFileError(f'damaged: the tensor "{info.name}" appears twice')
        if info.offset != end:
            raise ModelFileError(f'damaged: the tensor "{info.name}" begins at byte {info.offset:,} instead of {end:,}')
        end = info.offset + info.nbytes + -info.nbytes % alignment
        if info.offset + info.nbytes > len(cursor.data):
            raise ModelFileError(
                f'truncated at tensor "{info.name}": it ends at byte {info.offset + info.nbytes:,},'
                f" the file has {len(cursor.data):,}"
            )
        tensors[info.name] = info
    return tensors


def _read_tensor(cursor: _Cursor) -> Callable[[int], TensorInfo]:
    """Returns a function from the position of the first weight to the tensor's place."""
    name = cursor.name()
    cursor.subject = f'the entry of tensor "{name}"'
    n_dims = cursor.u32()
    if not 1 <= n_dims <= MAX_DIMS:
        raise ModelFileError(f'damaged: the tensor "{name}" has {n_dims} dimensions')
    shape = tuple(U64.unpack(cursor.take(8))[0] for _ in range(n_dims))[::-1]
    type_name, n_values, nbytes = _extent(name, shape, cursor.u32())
    offset = U64.unpack(cursor.take(8))[0]
    return partial(_place, TensorInfo(name, shape, type_name, offset, n_values, nbytes))


def _place(info: TensorInfo, begin: int) -> TensorInfo:
    return TensorInfo(info.name, info.shape, info.type_name, begin + info.offset, info.n_values, info.nbytes)


def _extent(name: str, shape: tuple[int, ...], type_id: int) -> tuple[str, int, int]:
    """A tensor's type by name, its number of values, and its bytes."""
    quant = QUANTS.get(type_id)
    if quant is None:
        kind = OTHER_TYPES.get(type_id, f"number {type_id}")
        raise ModelFileError(f'the tensor "{name}" has the type {kind}, which is not supported')
    if shape[-1] % quant.block_values:
        raise ModelFileError(
            f'the tensor "{name}" has rows of {shape[-1]} values,'
            f" not a multiple of {quant.block_values} as {quant.name} needs"
        )
    n_values = 1
    for length in shape:
        n_values *= length
    return quant.name, n_values, n_values // quant.block_values * quant.block_bytes
