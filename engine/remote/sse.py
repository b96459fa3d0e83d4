"""Server-sent events out of a stream's bytes, however they are cut (spec §7.9)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["events"]


def events(parts: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Yield each ``data:`` object; comments, ``null``, ``[DONE]`` and what cannot be read are passed over."""
    rest = b""
    for part in parts:
        *lines, rest = (rest + part).split(b"\n")
        yield from _objects(lines)
    yield from _objects([rest])


def _objects(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    for line in lines:
        if line.startswith(b"data:"):
            try:
                value = json.loads(line[5:].decode("utf-8", "replace"))
            except ValueError:
                continue
            if isinstance(value, dict):
                yield value
