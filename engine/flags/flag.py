"""What an option of the command line is: its names, its variable, and what its value may be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

import msgspec
from msgspec import Struct

__all__ = ["ON_OFF", "ON_OFF_AUTO", "Flag", "Kind"]


class Kind(StrEnum):
    """How a flag's word becomes its value."""

    INT = "int"
    FLOAT = "float"
    TEXT = "text"
    SWITCH = "switch"
    CHOICE = "choice"
    LIST = "list"  # comma-separated, adds up
    WORDS = "words"  # one word each time, adds up
    OBJECT = "object"  # a JSON object, adds up


class Flag(Struct, frozen=True):
    """One option. ``field`` is where its value goes (``group.name``); ``negative`` names switch it off.

    ``choices``: values by the words that stand for them. ``complaint``: what is said of a wrong value,
    ``warning`` of the option itself. ``read`` turns a text into the value and raises `ValueError`.
    """

    field: str
    names: tuple[str, ...]
    kind: Kind = Kind.INT
    env: str = ""
    help: str = ""
    negative: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    choices: Mapping[str, object] = msgspec.field(default_factory=dict)
    complaint: str = ""
    warning: str = ""
    read: Callable[[str], object] = str


ON_OFF = {
    "on": True,
    "off": False,
    "enabled": True,
    "disabled": False,
    "true": True,
    "false": False,
    "1": True,
    "0": False,
}
ON_OFF_AUTO = ON_OFF | {"auto": None, "-1": None}
