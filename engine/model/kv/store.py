"""K and V of all cells, held once in their types' bytes (spec §3.1), and their part of a save file (spec §7.5)."""

from __future__ import annotations

import struct

import numpy as np

from slotview.engine.context.kv_size import KvShape, row_bytes

from ..arrays import CellIds, Floats, Stored
from .hadamard import hadamard, rotate_heads, rotation_size
from .kv_types import KvType, kv_type

__all__ = ["KvTensor", "TypedKvStore"]

QUERIES = kv_type("q8_0")
HEADER = struct.Struct("<4I")
HEADER_NAMES = ("v_trans", "n_layer", "n_rot_k", "n_rot_v")
LAYER_HEADER = struct.Struct("<iQ")
TRANSPOSED_HEADER = struct.Struct("<iII")


class KvTensor:
    """K or V of all layers: items [n_layer, n_stream × n_cells, items of a row], heads side by side in a row.

    ``rotation`` is the Hadamard matrix applied to values before they are stored, None for none.
    """

    def __init__(self, kind: KvType, shape: tuple[int, int, int], head_dim: int, rotated: int) -> None:
        n_layer, n_rows, n_head = shape
        if head_dim % kind.block_values:
            raise ValueError(
                f"cache type {kind.name} holds blocks of {kind.block_values} values, "
                f"so it cannot be used with a head dimension of {head_dim}"
            )
        self.kind = kind
        self.n_head = n_head
        self.head_dim = head_dim
        self.n_rotated = rotated
        self.rotation = hadamard(rotated) if rotated else None
        self.items: Stored = kind.zeros((n_layer, n_rows), n_head * head_dim)

    @property
    def row_bytes(self) -> int:
        """Bytes of one cell in one layer."""
        return row_bytes(self.kind.name, self.n_head * self.head_dim)

    def put(self, layer: int, rows: CellIds | slice, values: Floats) -> None:
        """Store values [n, n_head × head_dim], which are already rotated, at n rows."""
        self.items[layer, rows] = self.kind.encode(values)

    def get(self, layer: int, rows: CellIds | slice) -> Floats:
        """Widened values [n, n_head × head_dim] of n rows, still rotated, as new array."""
        stored = self.items[layer, rows]
        values = np.empty((len(stored), self.n_head * self.head_dim), np.float32)
        self.kind.decode(stored, values)
        values *= self.kind.scale
        return values

    def rotate(self, values: Floats) -> Floats:
        """Into the rotated space and back; the values themselves where nothing is rotated."""
        return values if self.rotation is None else rotate_heads(values, self.rotation)

    def query(self, values: Floats) -> Floats:
        """Scaled queries [n, H × head_dim] in the rotated space, rounded to blocks of bytes where the keys are.

        llama.cpp multiplies quantized keys with queries of the type q8_0, so that its sums are of whole numbers, and
        scales afterwards. The order matters: a block's own scale has only 11 bits.
        """
        rotated = self.rotate(values)
        if self.kind.block_values == 1:
            return rotated
        scale = np.float32(self.head_dim**-0.5)
        rounded = np.empty(rotated.shape, np.float32)
        QUERIES.decode(QUERIES.encode(rotated / scale), rounded)
        rounded *= scale
        return rounded

    def layer_bytes(self, layer: int, rows: CellIds) -> bytes:
        """Header and rows of one layer as in a save file."""
        body: bytes = self.items[layer, rows].tobytes()
        return LAYER_HEADER.pack(self.kind.ggml_id, self.row_bytes) + body

    def take_layer(self, layer: int, rows: CellIds, data: memoryview) -> int:
        """Inverse of `layer_bytes`; returns the bytes used. Raises `ValueError`."""
        ggml_id, size = LAYER_HEADER.unpack_from(_at_least(data, LAYER_HEADER.size))
        if ggml_id != self.kind.ggml_id:
            raise ValueError(f"mismatched type of layer {layer}: {ggml_id} instead of {self.kind.ggml_id}")
        if size != self.row_bytes:
            raise ValueError(f"mismatched row size of layer {layer}: {size} instead of {self.row_bytes} bytes")
        end = LAYER_HEADER.size + self.row_bytes * len(rows)
        body = _at_least(data, end)[LAYER_HEADER.size : end]
        self.items[layer, rows] = np.frombuffer(body, self.items.dtype).reshape(len(rows), -1)
        return end

    def transposed_bytes(self, layer: int, rows: CellIds) -> bytes:
        """Like `layer_bytes`, value by value: one run over all cells for each."""
        body: bytes = self.items[layer, rows].T.tobytes()
        return TRANSPOSED_HEADER.pack(*self._transposed_header) + body

    def take_transposed(self, layer: int, rows: CellIds, data: memoryview) -> int:
        """Inverse of `transposed_bytes`; returns the bytes used. Raises `ValueError`."""
        found = TRANSPOSED_HEADER.unpack_from(_at_least(data, TRANSPOSED_HEADER.size))
        if found != self._transposed_header:
            raise ValueError(f"mismatched shape of layer {layer}: {found} instead of {self._transposed_header}")
        end = TRANSPOSED_HEADER.size + self.row_bytes * len(rows)
        body = _at_least(data, end)[TRANSPOSED_HEADER.size : end]
        self.items[layer, rows] = np.frombuffer(body, self.items.dtype).reshape(-1, len(rows)).T
        return end

    @property
    def _transposed_header(self) -> tuple[int, int, int]:
        """Type, bytes of one element, values of a cell."""
        return self.kind.ggml_id, self.items.itemsize, self.items.shape[2]


def _at_least(data: memoryview, n_bytes: int) -> memoryview:
    if len(data) < n_bytes:
        raise ValueError(f"the saved state ends {n_bytes - len(data)} bytes too early")
    return data


class TypedKvStore:
    """`KvStore` over NumPy arrays; pages of cells that were never written take no memory."""

    def __init__(self, shape: KvShape, n_stream: int, n_cells: int, type_k: str, type_v: str) -> None:
        self.shape = shape
        self.n_stream = n_stream
        self.n_cells = n_cells
        self.v_transposed = False
        self.k = self._tensor(kv_type(type_k), shape.head_dim_k, is_k=True)
        self.v = self._tensor(kv_type(type_v), shape.head_dim_v, is_k=False)

    def _tensor(self, kind: KvType, head_dim: int, *, is_k: bool) -> KvTensor:
        rotated = rotation_size(head_dim, quantized=kind.block_values > 1, largest=is_k)
        shape = (self.shape.n_layer, self.n_stream * self.n_cells, self.shape.n_head_kv)
        return KvTensor(kind, shape, head_dim, rotated)

    @property
    def nbytes(self) -> int:
        """Bytes of K and V."""
        return self.k.items.nbytes + self.v.items.nbytes

    @property
    def type_k(self) -> str:
        """Name of K's type."""
        return self.k.kind.name

    @property
    def type_v(self) -> str:
        """Name of V's type."""
        return self.v.kind.name

    def rows(self, stream: int, cells: CellIds) -> CellIds:
        """Rows of the tensors that hold cells of a stream."""
        return cells + stream * self.n_cells

    def copy_stream(self, source: int, target: int) -> None:
        """Copy all cells of one stream to another."""
        a, b = source * self.n_cells, target * self.n_cells
        for tensor in (self.k, self.v):
            tensor.items[:, b : b + self.n_cells] = tensor.items[:, a : a + self.n_cells]

    def read(self, stream: int, cells: CellIds) -> bytes:
        """Serialise cells: sizes, then K of all layers, then V of all layers."""
        rows = self.rows(stream, cells)
        parts = [HEADER.pack(*self._sizes())]
        pack_v = self.v.transposed_bytes if self.v_transposed else self.v.layer_bytes
        for pack in (self.k.layer_bytes, pack_v):
            parts += [pack(layer, rows) for layer in range(self.shape.n_layer)]
        return b"".join(parts)

    def write(self, stream: int, cells: CellIds, data: bytes | memoryview) -> int:
        """Take cells from `read`'s bytes; returns the bytes used. Raises `ValueError`, leaving cells half written."""
        view = memoryview(data)
        found = HEADER.unpack_from(_at_least(view, HEADER.size))
        for name, value, wanted in zip(HEADER_NAMES, found, self._sizes(), strict=True):
            if value != wanted:
                raise ValueError(f"mismatched {name}: {value} instead of {wanted}")
        used = HEADER.size
        rows = self.rows(stream, cells)
        take_v = self.v.take_transposed if self.v_transposed else self.v.take_layer
        for take in (self.k.take_layer, take_v):
            for layer in range(self.shape.n_layer):
                used += take(layer, rows, view[used:])
        return used

    def _sizes(self) -> tuple[int, int, int, int]:
        return int(self.v_transposed), self.shape.n_layer, self.k.n_rotated, self.v.n_rotated
