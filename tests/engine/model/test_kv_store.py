"""The store's size, its part of a save file, and the rotation before quantizing."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from slotview.engine.model.interface import KvShape
from slotview.engine.model.kv.hadamard import hadamard, rotate_heads, rotation_size
from slotview.engine.model.kv.store import TypedKvStore

SMOLLM2 = KvShape(n_layer=30, n_head_kv=3, head_dim_k=64, head_dim_v=64)
SMALL = KvShape(n_layer=2, n_head_kv=2, head_dim_k=64, head_dim_v=32)


def filled(type_k: str = "f16", type_v: str = "q8_0") -> TypedKvStore:
    kv = TypedKvStore(SMALL, 3, 50, type_k, type_v)
    rng = np.random.default_rng(2)
    for tensor in (kv.k, kv.v):
        for layer in range(2):
            values = rng.standard_normal((150, 2 * tensor.head_dim)).astype(np.float32)
            tensor.put(layer, np.arange(150), values)
    return kv


@pytest.mark.parametrize(
    ("type_k", "type_v", "mib"),
    [
        ("f32", "f32", 45.0),
        ("f16", "f16", 22.5),
        ("q8_0", "q8_0", 11.953),
        ("q5_1", "q5_1", 8.4375),
        ("q4_0", "q4_0", 6.328),
        ("iq4_nl", "iq4_nl", 6.328),
        ("q8_0", "f16", 17.227),
    ],
)
def test_size_of_1024_cells(type_k: str, type_v: str, mib: float) -> None:
    one, four = (TypedKvStore(SMOLLM2, n, 1024 // n, type_k, type_v) for n in (1, 4))
    assert one.nbytes / 2**20 == pytest.approx(mib, abs=1e-3)
    assert one.nbytes == four.nbytes
    assert (one.type_k, one.type_v) == (type_k, type_v)


def test_saved_bytes_have_the_layout_of_the_spec() -> None:
    data = TypedKvStore(SMOLLM2, 2, 300, "f16", "f16").read(0, np.arange(26))
    assert 12 + 4 * (26 + 4) + 4 + 4 * 2 + 12 * 26 + len(data) == 600232
    assert struct.unpack_from("<4IiQ", data) == (0, 30, 0, 0, 1, 384)


@pytest.mark.parametrize(("type_k", "type_v"), [("f16", "q8_0"), ("q4_1", "f32"), ("iq4_nl", "bf16")])
def test_cells_travel_between_stores(type_k: str, type_v: str) -> None:
    source, target = filled(type_k, type_v), TypedKvStore(SMALL, 1, 90, type_k, type_v)
    cells, places = np.array([3, 49, 7]), np.array([80, 1, 2])
    data = source.read(2, cells)
    assert target.write(0, places, data + b"more") == len(data)
    assert target.read(0, places) == data
    np.testing.assert_array_equal(target.v.get(1, places), source.v.get(1, 100 + cells))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ((4, 7), "mismatched n_layer: 7 instead of 2"),
        ((8, 64), "mismatched n_rot_k: 64 instead of 0"),
        ((16, 8), "mismatched type of layer 0: 8 instead of 1"),
        ((20, 99), "mismatched row size of layer 0: 99 instead of 256 bytes"),
    ],
)
def test_foreign_bytes_are_refused(change: tuple[int, int], text: str) -> None:
    data = bytearray(filled().read(0, np.arange(4)))
    struct.pack_into("<I", data, *change)
    with pytest.raises(ValueError, match=text):
        filled().write(0, np.arange(4), bytes(data))


@pytest.mark.parametrize("n_bytes", [0, 15, 20, 100, -1])
def test_cut_off_bytes_are_refused(n_bytes: int) -> None:
    data = filled().read(0, np.arange(4))
    with pytest.raises(ValueError, match="too early"):
        filled().write(0, np.arange(4), data[:n_bytes])


def test_streams_are_copied_whole() -> None:
    kv = filled()
    before = kv.read(1, np.arange(50))
    kv.copy_stream(0, 2)
    assert kv.read(2, np.arange(50)) == kv.read(0, np.arange(50))
    assert kv.read(1, np.arange(50)) == before


@pytest.mark.parametrize(
    ("head_dim", "of_k", "of_v"), [(32, 0, 0), (64, 64, 64), (96, 0, 0), (128, 128, 64), (192, 64, 64)]
)
def test_rotation_sizes(head_dim: int, of_k: int, of_v: int) -> None:
    assert rotation_size(head_dim, quantized=True, largest=True) == of_k
    assert rotation_size(head_dim, quantized=True, largest=False) == of_v
    assert rotation_size(head_dim, quantized=False, largest=True) == 0


def test_rotation_is_its_own_inverse() -> None:
    values = np.random.default_rng(0).standard_normal((5, 256)).astype(np.float32)
    matrix = hadamard(64)
    np.testing.assert_allclose(rotate_heads(rotate_heads(values, matrix), matrix), values, atol=1e-5)
    assert set(np.unique(np.abs(matrix))) == {np.float32(0.125)}


def test_a_query_is_rounded_before_it_is_scaled() -> None:
    store = TypedKvStore(KvShape(1, 1, 32, 32), 1, 256, "q8_0", "q8_0")
    whole = np.linspace(-1.7, 1.3, 32, dtype=np.float32)[None]
    step = float(np.float16(np.float32(1.7) / np.float32(127)))
    codes = np.rint(whole.astype(np.float64) * 127 / 1.7)
    scale = 32**-0.5
    np.testing.assert_allclose(store.k.query(whole * np.float32(scale)), codes * step * scale, rtol=1e-6)
