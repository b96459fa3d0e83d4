"""Removes from text what must not be kept: passwords and keys in addresses, flags and headers."""

from __future__ import annotations

import re

__all__ = ["scrub", "scrub_all"]

_RULES = (
    (re.compile(r"(\w+://)[^/\s@]*@"), r"\1"),  # user and password
    (re.compile(r"(\w+://[^\s?#]*)\?[^\s#]*"), r"\1"),  # a query may carry keys under any name
    (re.compile(r"(?i)\b(bearer\s+)\S+"), r"\1***"),
    (re.compile(r"(?i)\b(basic\s+)[\w+/]{6,}=*"), r"\1***"),
    (re.compile(r"(?i)(api[-_ ]?key(?:-file)?[\"']?\s*[:=]\s*[\"']?)[^\s\"',]+"), r"\1***"),
    (re.compile(r"(?i)(--api-key(?:-file)?\s+)(?!or\b)[^\s\"',]+"), r"\1***"),  # "or": as in what is advised
    (re.compile(r"\bsk-[\w-]{8,}"), "***"),
)


def scrub(text: str) -> str:
    """Return ``text`` without secrets; text that has none is returned unchanged."""
    for pattern, without in _RULES:
        text = pattern.sub(without, text)
    return text


def scrub_all(data: object) -> object:
    """The same for every string in JSON data, keys included."""
    if isinstance(data, str):
        return scrub(data)
    if isinstance(data, list):
        return [scrub_all(item) for item in data]
    if isinstance(data, dict):
        return {scrub(key): scrub_all(value) for key, value in data.items()}
    return data
