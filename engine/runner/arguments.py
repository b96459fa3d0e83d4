"""A child's command line: the flags about slots and context, which a retune changes, and all others."""

from __future__ import annotations

from collections.abc import Sequence

from ..backend import BackendError
from ..context import LaunchFlags
from ..flag_table import FLAGS, Kind
from ..flags import FlagError, parse_flags

__all__ = ["model_path", "split_arguments"]

LAUNCH = {name: flag for flag in FLAGS if flag.field.startswith("launch.") for name in (*flag.names, *flag.negative)}
MODEL_NAMES = ("-m", "--model")


def split_arguments(words: Sequence[str]) -> tuple[LaunchFlags, list[str]]:
    """Take the launch flags out of a command line. Raises `BackendError` where one of them is wrong."""
    launch: list[str] = []
    others: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        flag = LAUNCH.get(word.partition("=")[0].replace("_", "-"))
        if flag is None:
            others.append(word)
            continue
        launch.append(word)
        if flag.kind is not Kind.SWITCH and "=" not in word and rest:
            launch.append(rest.pop(0))
    try:
        return parse_flags(launch).launch, others
    except FlagError as error:
        raise BackendError(str(error)) from None


def model_path(words: Sequence[str]) -> str | None:
    """The model file named in a command line."""
    for place, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in MODEL_NAMES:
            return value if equals else (words[place + 1] if place + 1 < len(words) else None)
    return None
