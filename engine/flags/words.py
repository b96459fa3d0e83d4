"""Parsers for values of the command line that are more than a number or a text (spec §1.2)."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

from ..model.sampling_params import SamplingParams, sampler_names

__all__ = [
    "decimal",
    "dry_base",
    "effort",
    "file_text",
    "first_whole",
    "hosts",
    "json_object",
    "numbers",
    "route_prefix",
    "samplers",
    "seed",
    "temperature",
    "token_bias",
    "unescaped",
    "whole",
]

BIAS = re.compile(r"\s*([+-]?\d+)\s*([+-])(.+)")
SEPARATORS = re.compile(r"[,/]+")
WHOLE = re.compile(r"\s*[+-]?[0-9]+")
ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|([nrt'\"\\]))")
ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}


def whole(text: str, bits: int = 32) -> int:
    """A whole number that fits into ``bits``. Raises `ValueError`."""
    if not WHOLE.fullmatch(text):
        raise ValueError(f"'{text}' is not a whole number")
    limit = 2 ** (bits - 1)
    if len(text) > bits or not -limit <= int(text) < limit:
        raise ValueError(f"{text} is beyond what {bits} bits can hold")
    return int(text)


def decimal(text: str) -> float:
    """A number with or without a fraction. Raises `ValueError`."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise ValueError(f"'{text}' is not a number")
    if math.isfinite(value) and abs(value) >= 2.0**128:
        raise ValueError(f"{text} is beyond what a float32 can hold")
    return value


def samplers(text: str) -> tuple[str, ...]:
    """Parse sampler names separated by ``;``; unknown ones are dropped."""
    return sampler_names(text.split(";"))


def first_whole(text: str) -> int:
    """The first of whole numbers separated by commas or slashes. Raises `ValueError`."""
    return whole(SEPARATORS.split(text)[0])


def numbers(text: str) -> tuple[float, ...]:
    """Parse numbers separated by commas or slashes. Raises `ValueError`."""
    return tuple(decimal(part) for part in SEPARATORS.split(text))


def seed(text: str) -> int:
    """A seed of 32 bits; -1 is the largest. Raises `ValueError`."""
    return whole(text, bits=64) % 2**32


def route_prefix(text: str) -> str:
    """What the path of every route begins with. Raises `ValueError`."""
    if not re.fullmatch(r"(/[^/?#{}\s]+)*/?", text):
        raise ValueError(f"'{text}' cannot begin a path; give one such as /llm")
    return text


def temperature(text: str) -> float:
    """A temperature; below 0 is 0. Raises `ValueError`."""
    return max(decimal(text), 0.0)


def dry_base(text: str) -> float:
    """The base of DRY's penalty; one below 1 leaves the usual. Raises `ValueError`."""
    value = decimal(text)
    return value if value >= 1 else SamplingParams().dry_base


def hosts(text: str) -> tuple[str, ...]:
    """Addresses separated by commas. Raises `ValueError`."""
    found = tuple(host.strip() for host in text.split(",") if host.strip())
    if not found:
        raise ValueError("--host requires at least one address")
    return found


def token_bias(text: str) -> tuple[int, float]:
    """Parse ``TOKEN+BIAS`` or ``TOKEN-BIAS``. Raises `ValueError`."""
    found = BIAS.fullmatch(text)
    if found is None:
        raise ValueError("invalid input format")
    return whole(found[1]), decimal(found[3]) * (1 if found[2] == "+" else -1)


def file_text(path: str) -> str:
    """The contents of a text file. Raises `ValueError`."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        raise ValueError(f"failed to open file '{path}'") from None
    except UnicodeDecodeError:
        raise ValueError(f"'{path}' is not a text file in UTF-8") from None


def json_object(text: str) -> dict[str, object]:
    """Parse a JSON object. Raises `ValueError`."""
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"no JSON object: {error.msg} at column {error.colno}") from None
    except RecursionError:
        raise ValueError("no JSON object: nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError(f"'{text}' is no JSON object")
    return found


def effort(text: str) -> str:
    """The level that ``--reasoning-effort`` names; "default" names none and leaves it to the template."""
    return "" if text == "default" else text


def unescaped(text: str) -> str:
    r"""Replace escapes such as ``\n`` and ``\x41`` with what they mean; unknown ones stay."""

    def meaning(found: re.Match[str]) -> str:
        return chr(int(found[1], 16)) if found[1] else ESCAPED.get(found[2], found[2])

    return ESCAPE.sub(meaning, text)
