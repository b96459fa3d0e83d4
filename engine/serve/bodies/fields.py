"""Reading one field of a request body: defaults, types, ranges (spec §8.1)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TypeVar, cast

from ..errors import ApiError
from .json_text import as_f32
from .json_words import not_of_type
from .remarks import remark

__all__ = [
    "INT64_MAX",
    "INT64_MIN",
    "Body",
    "Fields",
    "leading_integer",
    "lenient",
    "to_int32",
    "to_int64",
    "wrong_type",
]

T = TypeVar("T", bool, int, float, str)
Body = Mapping[str, object]
TYPES: Mapping[type, tuple[str, type | tuple[type, ...]]] = {
    bool: ("boolean", bool),
    int: ("number", (int, float)),
    float: ("number", (int, float)),
    str: ("string", str),
}
INT_MAX = 2**31 - 1
UINT_MAX = 2**32 - 1
FLOAT_MAX = 3.4028234663852886e38  # of 32 bits
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
INTEGER = re.compile(r"[ \t-\r]*([+-]?)0*([0-9]+)")
DECISIVE = 20  # digits: a number of so many has more than 64 bits


class Fields:
    """A body with typed access. Missing and ``null`` mean the default; a wrong type raises `ApiError` 400."""

    def __init__(self, body: Body) -> None:
        self._body = body

    def find(self, *names: str) -> tuple[str, object]:
        """The first of several names that has a value, with it; ``("", None)`` where none has."""
        return next(((name, self._body[name]) for name in names if self._body.get(name) is not None), ("", None))

    def integer(self, *names: str, default: int, low: int | None = None, high: int = INT_MAX) -> int:
        """A whole number, reduced to 32 bits; outside a given range it is refused."""
        name, value = self.find(*names)
        if value is None:
            return default
        number = to_int32(self._number(name, value))
        if low is not None and not low <= number <= high:
            raise ApiError(f"Field '{name}': Value must be between {low} <= value <= {high}, but got {number}")
        return number

    def long_integer(self, name: str, *, default: int, low: int) -> int:
        """A whole number of 64 bits; true and false are no numbers."""
        value = self._body.get(name)
        if value is None:
            return default
        if isinstance(value, bool):
            raise wrong_type(name, "number", value)
        number = to_int64(self._number(name, value))
        if number < low:
            raise ApiError(f"Field '{name}': Value must be between {low} <= value <= {INT64_MAX}, but got {number}")
        return number

    def seed(self, *, default: int) -> int:
        """The low 32 bits of a whole number, without sign."""
        value = self._body.get("seed")
        return (default if value is None else to_int64(self._number("seed", value))) & UINT_MAX

    def clamped_integer(self, name: str, *, default: int, low: int, high: int = INT_MAX) -> int:
        """A whole number brought into a range; the default is taken as it is."""
        given = self._body.get(name) is not None
        return min(high, max(low, self.integer(name, default=default))) if given else default

    def real(self, name: str, *, default: float, low: float = -FLOAT_MAX, high: float = FLOAT_MAX) -> float:
        """A 32-bit number, brought into a range; the default is taken as it is."""
        value = self._body.get(name)
        return as_f32(default) if value is None else min(high, max(low, as_f32(self._number(name, value))))

    def checked_real(self, name: str, *, default: float, low: float, high: float) -> float:
        """A 32-bit number that is refused outside its range; the default is taken as it is."""
        number = self.real(name, default=default, low=-math.inf, high=math.inf)
        if self._body.get(name) is not None and not low <= number <= as_f32(high):
            wanted = f"between {low:.6f} <= value <= {high:.6f}"
            raise ApiError(f"Field '{name}': Value must be {wanted}, but got {number:.6f}")
        return number

    def boolean(self, name: str, *, default: bool) -> bool:
        """True or false."""
        value = self._body.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise wrong_type(name, "boolean", value)
        return value

    def lenient(self, name: str, *, default: T) -> T:
        """A value of the default's type; where it has another, the default, with a remark."""
        return lenient(self._body, name, default)

    def string(self, name: str, *, default: str) -> str:
        """A text."""
        value = self._body.get(name)
        if value is None:
            return default
        if not isinstance(value, str):
            raise wrong_type(name, "string", value)
        return value

    def strings(self, name: str) -> tuple[str, ...]:
        """A list of strings; a wrong type falls back to none, with a remark."""
        value = self._body.get(name)
        if value is None:
            return ()
        if not isinstance(value, list):
            _stands_in(name, "array", value)
            return ()
        for item in value:
            if not isinstance(item, str):
                _stands_in(name, "string", item)
                return ()
        return tuple(value)

    def inside(self, name: str) -> Fields:
        """The fields of an object; of none where the type is another."""
        value = self._body.get(name)
        return Fields(value if isinstance(value, dict) else {})

    def raw(self, name: str) -> object:
        """The value as it is; None where it is missing."""
        return self._body.get(name)

    def _number(self, name: str, value: object) -> float:
        if not isinstance(value, int | float):
            raise wrong_type(name, "number", value)
        return value


def lenient(members: Body, name: str, default: T) -> T:
    """A member of the default's type; where it has another, the default, with a remark."""
    value = members.get(name)
    if value is None:
        return default
    wanted, types = TYPES[type(default)]
    if not isinstance(value, types):
        _stands_in(name, wanted, value)
        return default
    if type(default) is int and isinstance(value, int | float):
        value = to_int32(value)
    return cast(T, value)


def _stands_in(name: str, wanted: str, value: object) -> None:
    why = not_of_type(wanted, value)
    remark(f"Wrong type supplied for parameter '{name}', using default value: {why}")


def leading_integer(text: str) -> int | None:
    """The whole number that a text begins with, in C's spelling, brought into 64 bits; None = there is none."""
    found = INTEGER.match(text)
    return None if found is None else max(INT64_MIN, min(INT64_MAX, int(found[1] + found[2][:DECISIVE])))


def to_int32(number: float) -> int:
    """Cut fractions off and keep the low 32 bits, with sign; a fraction beyond them becomes the smallest number."""
    if isinstance(number, int) and INT64_MIN <= number < 2**64:
        return (number + 2**31) % 2**32 - 2**31
    return int(number) if -(2**31) - 1 < number < 2**31 else -(2**31)


def to_int64(number: float) -> int:
    """Cut fractions off and keep the low 64 bits, with sign; what is beyond them becomes the smallest number."""
    if isinstance(number, int) and INT64_MIN <= number < 2**64:
        return (number + 2**63) % 2**64 - 2**63
    return int(number) if INT64_MIN <= number < 2**63 else INT64_MIN


def wrong_type(name: str, wanted: str, value: object) -> ApiError:
    """The refusal of a field whose JSON type is another."""
    return ApiError(f"Field '{name}': {not_of_type(wanted, value)}")
