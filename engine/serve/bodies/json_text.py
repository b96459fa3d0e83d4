"""JSON bodies in, JSON text out, as llama-server reads and writes them (spec §7.1)."""

from __future__ import annotations

import json
import math
import re
import struct
from typing import NoReturn

from ..errors import ThrownError

__all__ = ["MAX_BODY", "Json", "UnreadableError", "as_f32", "read_json", "write_json"]

Json = dict[str, object]

MAX_BODY = 100 * 1024 * 1024
ESCAPE = re.compile(r"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]|(u[dD][89a-fA-F])|.)")
"""An escape in a string, or two that are one character; the group is there where half a character is escaped."""
LONGEST_64_BITS = 20  # characters of a whole number


class UnreadableError(Exception):
    """A body that no handler gets to see; the answer is its status, and ``why`` as plain text where that is told."""

    def __init__(self, status: int, why: str = "") -> None:
        super().__init__(status)
        self.status = status
        self.why = why


def read_json(data: bytes) -> object:
    """Parse a body. Raises `ApiError` 400 for what is not strict JSON in UTF-8."""
    try:
        text = data.partition(b"\0")[0].decode("utf-8-sig")  # the C++ library ends at a zero
        parsed: object = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite, parse_int=_whole)
        if "\\u" in text and any(escape[1] for escape in ESCAPE.finditer(text)):
            _fail("a surrogate without its partner")
        return parsed
    except UnicodeDecodeError as error:
        _fail(f"ill-formed UTF-8 byte at {error.start}")
    except RecursionError:
        _fail("nested too deep")
    except OverflowError as error:
        raise ThrownError(f"[json.exception.out_of_range.406] {error}") from None
    except ValueError as error:
        _fail(str(error))


def _fail(why: str) -> NoReturn:
    raise ThrownError(f"[json.exception.parse_error.101] parse error: {why}") from None


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"invalid literal; last read: '{word}'")


def _whole(word: str) -> float:
    """A whole number; beyond 64 bits it becomes one with a fraction, as the C++ library has it."""
    if len(word) <= LONGEST_64_BITS and -(2**63) <= (number := int(word)) < 2**64:
        return number
    return _finite(word)


def _finite(word: str) -> float:
    value = float(word)
    if math.isinf(value):
        raise OverflowError(f"number overflow parsing '{word}'")
    return value


def write_json(value: object) -> str:
    """Compact JSON with non-ASCII characters as they are and infinities as null."""
    return json.dumps(_printable(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _printable(value: object) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _printable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_printable(item) for item in value]
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8") if not value.isascii() else value
    return value


def as_f32(value: float) -> float:
    """Round to 32 bits, as the server holds its sampling parameters."""
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded
