"""Parsers for values of the command line that are more than a number or a text (spec §1.2)."""

from __future__ import annotations

import json
import re
from pathlib import Path

from .model.sampling_params import sampler_names

__all__ = ["effort", "file_text", "json_object", "samplers", "token_bias", "unescaped"]

BIAS = re.compile(r"\s*([+-]?\d+)\s*([+-])(.+)")
ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|([nrt'\"\\]))")
ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}


def samplers(text: str) -> tuple[str, ...]:
    """Parse sampler names separated by ``;``; unknown ones are dropped."""
    return sampler_names(text.split(";"))


def token_bias(text: str) -> tuple[int, float]:
    """Parse ``TOKEN+BIAS`` or ``TOKEN-BIAS``. Raises `ValueError`."""
    found = BIAS.fullmatch(text)
    if found is None:
        raise ValueError("invalid input format")
    return int(found[1]), float(found[3]) * (1 if found[2] == "+" else -1)


def file_text(path: str) -> str:
    """The contents of a text file. Raises `ValueError`."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        raise ValueError(f"failed to open file '{path}'") from None


def json_object(text: str) -> dict[str, object]:
    """Parse a JSON object. Raises `ValueError`."""
    found = json.loads(text)
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
