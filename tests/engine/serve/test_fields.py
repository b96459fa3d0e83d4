"""Fields of a body: types, ranges, and what numbers become in 32 and 64 bits (spec §8.1)."""

from __future__ import annotations

import pytest

from slotview.engine.serve.bodies.fields import Fields, to_int32, to_int64
from slotview.engine.serve.bodies.remarks import listen
from slotview.engine.serve.errors import ApiError

WHOLE = [
    (2.7, 2), (-0.5, 0), (True, 1), (3_000_000_000, -1_294_967_296), (-3_000_000_000, 1_294_967_296), (2**64 - 1, -1),
    (1.5e9, 1_500_000_000), (3e9, -(2**31)), (1e30, -(2**31)), (-1e30, -(2**31)), (2**64, -(2**31)), (10**40, -(2**31)),
    (-2147483648.5, -(2**31)),
]  # fmt: skip


@pytest.mark.parametrize(("given", "kept"), WHOLE)
def test_whole_numbers_keep_32_bits(given: float, kept: int) -> None:
    assert to_int32(given) == kept


@pytest.mark.parametrize(
    ("given", "kept"), [(3e9, 3_000_000_000), (2**63, -(2**63)), (2**64, -(2**63)), (1e30, -(2**63)), (-1.9, -1)]
)
def test_long_numbers_keep_64_bits(given: float, kept: int) -> None:
    assert to_int64(given) == kept


@pytest.mark.parametrize("value", [None, ...])
def test_missing_and_null_mean_the_default(value: object) -> None:
    fields = Fields({} if value is ... else {"n": value, "flag": value, "real": value})
    assert fields.integer("n", default=7, low=0) == 7
    assert fields.boolean("flag", default=True) is True
    assert fields.real("real", default=0.5) == 0.5


def test_the_first_present_alias_is_read_and_named() -> None:
    fields = Fields({"n": 9, "n_cmpl": 1})
    assert fields.integer("n_cmpl", "n", default=1, low=1, high=2) == 1
    with pytest.raises(ApiError) as told:
        Fields({"n": 9}).integer("n_cmpl", "n", default=1, low=1, high=2)
    assert told.value.message == "Field 'n': Value must be between 1 <= value <= 2, but got 9"


@pytest.mark.parametrize(("value", "name"), [("5", "string"), ([], "array"), ({}, "object")])
def test_a_wrong_type_is_named(value: object, name: str) -> None:
    with pytest.raises(ApiError) as told:
        Fields({"n": value}).integer("n", default=1)
    assert told.value.message == f"Field 'n': [json.exception.type_error.302] type must be number, but is {name}"


def test_real_numbers_have_32_bits_and_stay_in_range() -> None:
    fields = Fields({"top_p": 3, "low": -1, "x": 0.8})
    assert fields.real("top_p", default=1, low=0, high=1) == 1
    assert fields.real("low", default=1, low=0) == 0
    assert fields.real("x", default=1) == 0.800000011920929


def test_a_checked_number_prints_six_decimals() -> None:
    with pytest.raises(ApiError) as told:
        Fields({"adaptive_decay": 1}).checked_real("adaptive_decay", default=0.9, low=0, high=0.99)
    assert told.value.message.endswith("between 0.000000 <= value <= 0.990000, but got 1.000000")


def test_a_lenient_number_of_a_wrong_type_is_the_default_and_remarked() -> None:
    heard: list[str] = []
    listen(heard.append)
    assert Fields({"id_slot": 4294967297}).lenient("id_slot", default=-1) == 1
    assert Fields({"id_slot": True}).lenient("id_slot", default=-1) == 1
    assert Fields({"id_slot": None}).lenient("id_slot", default=-1) == -1
    assert heard == []
    assert Fields({"id_slot": "0"}).lenient("id_slot", default=-1) == -1
    assert Fields({"response_fields": ["a", 5]}).strings("response_fields") == ()
    wrong = "Wrong type supplied for parameter 'id_slot', using default value: [json.exception.type_error.302]"
    assert heard[0] == f"{wrong} type must be number, but is string"
    assert heard[1].endswith("type must be string, but is number")


def test_a_seed_has_no_sign() -> None:
    assert [Fields({"seed": seed}).seed(default=0) for seed in (-1, -5, 2**32, 3e9)] == [
        2**32 - 1, 2**32 - 5, 0, 3_000_000_000,
    ]  # fmt: skip
