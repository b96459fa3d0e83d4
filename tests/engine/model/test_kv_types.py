"""Storage types: sizes of the spec, rounding as ggml's, and what widening returns."""

from __future__ import annotations

import numpy as np
import pytest
from gguf import GGMLQuantizationType
from gguf.quants import dequantize, quantize

from slotview.engine.context.kv_size import row_bytes
from slotview.engine.model.arrays import Floats
from slotview.engine.model.kv.kv_types import KV_TYPES, kv_type

BYTES_PER_VALUE = {
    "f32": 4,
    "f16": 2,
    "bf16": 2,
    "q8_0": 1.0625,
    "q5_1": 0.75,
    "q5_0": 0.6875,
    "q4_1": 0.625,
    "q4_0": 0.5625,
    "iq4_nl": 0.5625,
}
SAME_IN_GGUF = ("f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0")


def rows(n: int = 7, seed: int = 0) -> Floats:
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((n, 192)) * rng.uniform(0.01, 30, (n, 1))).astype(np.float32)


def there_and_back(name: str, values: Floats) -> Floats:
    kind = kv_type(name)
    out = np.full(values.shape, np.nan, np.float32)
    kind.decode(kind.encode(values), out)
    return out * kind.scale


@pytest.mark.parametrize(("name", "per_value"), BYTES_PER_VALUE.items())
def test_bytes_are_those_of_the_spec(name: str, per_value: float) -> None:
    kind = kv_type(name)
    assert row_bytes(name, 192) == 192 * per_value
    assert kind.zeros((3, 5), 192).nbytes == 15 * 192 * per_value
    assert kind.encode(rows()).nbytes == 7 * 192 * per_value


def test_all_types_of_the_flag_are_there() -> None:
    assert sorted(KV_TYPES) == sorted(BYTES_PER_VALUE)
    assert {name: kind.ggml_id for name, kind in KV_TYPES.items()} == {
        name: GGMLQuantizationType[name.upper()].value for name in BYTES_PER_VALUE
    }


@pytest.mark.parametrize("name", SAME_IN_GGUF)
def test_bytes_equal_those_of_the_gguf_package(name: str) -> None:
    values = rows(40, 3)
    wanted = quantize(values, GGMLQuantizationType[name.upper()])
    np.testing.assert_array_equal(kv_type(name).encode(values).view(np.uint8), wanted.view(np.uint8))


@pytest.mark.parametrize("name", BYTES_PER_VALUE)
def test_widening_equals_that_of_the_gguf_package(name: str) -> None:
    values = rows(11, 4)
    stored = kv_type(name).encode(values)
    wanted = dequantize(stored.view(np.uint8), GGMLQuantizationType[name.upper()])
    np.testing.assert_allclose(there_and_back(name, values), wanted, rtol=1e-6)


@pytest.mark.parametrize("name", BYTES_PER_VALUE)
def test_zeros_stay_zeros(name: str) -> None:
    assert not there_and_back(name, np.zeros((2, 64), np.float32)).any()


def test_every_finite_half_is_widened_exactly() -> None:
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    finite = halves[np.isfinite(halves)].reshape(-1, 32)
    np.testing.assert_array_equal(there_and_back("f16", finite.astype(np.float32)), finite.astype(np.float32))


def test_bf16_rounds_to_even_and_keeps_nan() -> None:
    bits = np.array([0x3F808000, 0x3F818000, 0x3F808001, 0x7F800001], np.uint32)
    stored = kv_type("bf16").encode(bits.view(np.float32))
    assert [hex(item) for item in stored] == ["0x3f80", "0x3f82", "0x3f81", "0x7fc0"]


def test_iq4_nl_beats_even_steps_on_bell_shaped_values() -> None:
    values = rows(200, 9)
    errors = {name: float(np.square(there_and_back(name, values) - values).sum()) for name in ("iq4_nl", "q4_0")}
    assert errors["iq4_nl"] < errors["q4_0"]


def test_unknown_type_is_named() -> None:
    with pytest.raises(ValueError, match="Unsupported cache type: q3_k"):
        kv_type("q3_k")
