"""A line of a llama-server's log without what its flags put around it: time, level, colours, JSON (spec §9.1)."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import msgspec

__all__ = ["Told", "read_line"]

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
TIMED = re.compile(r"(?:\d+\.\d\d\.\d{3}\.\d{3} )([IWED]) (.*)", re.DOTALL)
UNTIMED = re.compile(r"([IWED]) ((?:srv|slot|que|res|cmn) .*|\w+: .*)", re.DOTALL)
PASSED_ON = re.compile(r"\[(\d+)\] (.*)", re.DOTALL)
LEVELS = {"debug": "D", "info": "I", "warn": "W", "error": "E"}


class Told(NamedTuple):
    """What a line says; ``level`` is I, W, E or D, None if it does not tell.

    ``port``: that of the server which said it, if a router passes it on.
    """

    level: str | None
    text: str
    port: str | None = None


def read_line(raw: str) -> Told:
    """Read a line in any of the forms that llama-server's flags choose."""
    if raw.startswith('{"type":"log"'):
        return _of_json(raw)
    line = COLOUR.sub("", raw)
    if passed_on := PASSED_ON.fullmatch(line):
        return read_line(passed_on[2])._replace(port=passed_on[1])
    found = TIMED.fullmatch(line) or UNTIMED.fullmatch(line)
    return Told(found[1], found[2]) if found else Told(None, line)


def _of_json(raw: str) -> Told:
    try:
        data: dict[str, Any] = msgspec.json.decode(raw, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError):
        return Told(None, raw)
    return Told(LEVELS.get(str(data.get("level"))), str(data.get("msg", "")).rstrip("\n"))
