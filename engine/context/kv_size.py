"""Bytes of a KV cache by type, without NumPy (spec §3.1)."""

from __future__ import annotations

from msgspec import Struct

__all__ = ["KV_TYPES", "KvShape", "KvType", "kv_bytes", "row_bytes"]


class KvType(Struct, frozen=True):
    """A storage type: values and bytes of one block. ``model/kv/kv_types.py`` says how values are stored in it."""

    name: str
    block_values: int
    block_bytes: int


class KvShape(Struct, frozen=True):
    """What one cell holds in each layer: K and V of ``n_head_kv`` heads."""

    n_layer: int
    n_head_kv: int
    head_dim_k: int
    head_dim_v: int


KV_TYPES = {
    kind.name: kind
    for kind in (
        KvType("f32", 1, 4),
        KvType("f16", 1, 2),
        KvType("bf16", 1, 2),
        KvType("q8_0", 32, 34),
        KvType("q4_0", 32, 18),
        KvType("q4_1", 32, 20),
        KvType("iq4_nl", 32, 18),
        KvType("q5_0", 32, 22),
        KvType("q5_1", 32, 24),
    )
}


def row_bytes(type_name: str, n_values: int) -> int:
    """Bytes of ``n_values`` values. Raises `ValueError` if they do not fill whole blocks."""
    kind = KV_TYPES[type_name]
    if n_values % kind.block_values:
        raise ValueError(f"{type_name} stores blocks of {kind.block_values} values; {n_values} values do not fill them")
    return n_values // kind.block_values * kind.block_bytes


def kv_bytes(shape: KvShape, n_cells: int, type_k: str = "f16", type_v: str = "f16") -> int:
    """Bytes of K and V together for ``n_cells`` cells in total."""
    row_k = row_bytes(type_k, shape.n_head_kv * shape.head_dim_k)
    row_v = row_bytes(type_v, shape.n_head_kv * shape.head_dim_v)
    return shape.n_layer * n_cells * (row_k + row_v)
