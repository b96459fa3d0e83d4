"""Reads the environment, then a command line, into values by field name (spec §1.1)."""

from __future__ import annotations

from collections.abc import Mapping

from .flag import Flag, Kind
from .table import FLAGS, REFUSED, REFUSED_VARIABLES
from .values import FALSE_WORDS, TRUE_WORDS, FlagError, boolean, converted

__all__ = ["FlagReader"]

BY_NAME = {name: flag for flag in FLAGS for name in (*flag.names, *flag.negative)}
ADDS_UP = (Kind.LIST, Kind.WORDS, Kind.OBJECT)


class FlagReader:
    """``values`` are those read so far, by field; ``warnings`` are lines to print. Its methods raise `FlagError`."""

    def __init__(self) -> None:
        self.values: dict[str, object] = {}
        self.warnings: list[str] = []
        self._variables: dict[str, str] = {}  # field → the variable that it came from
        self._seen: set[str] = set()

    def read_environment(self, environ: Mapping[str, str]) -> None:
        """Take the values of all variables that are known."""
        for name in sorted(REFUSED_VARIABLES.keys() & environ.keys()):
            if environ[name] not in ("", *FALSE_WORDS):
                raise FlagError(f"error: environment variable {name} is not possible here: {REFUSED_VARIABLES[name]}")
        for flag in FLAGS:
            if flag.env:
                self._read_variable(flag, environ)

    def _read_variable(self, flag: Flag, environ: Mapping[str, str]) -> None:
        negative = flag.env.replace("LLAMA_ARG_", "LLAMA_ARG_NO_")
        if flag.negative and negative in environ:
            self.values[flag.field], self._variables[flag.field] = False, negative
        elif flag.env in environ:
            try:
                value = _value(flag, environ[flag.env])
            except FlagError as error:
                raise FlagError(f'error while handling environment variable "{flag.env}": {error}') from None
            self.values[flag.field], self._variables[flag.field] = value, flag.env

    def read_option(self, rest: list[str]) -> None:
        """Take one option, and its value if it has one, from the front of ``rest``."""
        word = rest.pop(0)
        name, equals, attached = word.partition("=")
        name = name[:2] + name[2:].replace("_", "-") if name.startswith("--") else name
        flag = _flag(name, word)
        if flag.kind is not Kind.SWITCH:
            if not equals and not rest:
                raise FlagError(f'error while handling argument "{name}": error: expected value for argument')
            self._store(flag, name, attached if equals else rest.pop(0))
        elif equals:
            raise FlagError(f'error while handling argument "{name}": error: it takes no value')
        else:
            self.values[flag.field] = name not in flag.negative
        self._warn(flag, name)
        self._seen.add(flag.names[0])

    def _store(self, flag: Flag, name: str, text: str) -> None:
        try:
            value = converted(flag, text)
        except FlagError as error:
            raise FlagError(f'error while handling argument "{name}": error: {error}') from None
        adds_up = flag.kind in ADDS_UP and flag.names[0] in self._seen
        self.values[flag.field] = _together(self.values[flag.field], value) if adds_up else value

    def _warn(self, flag: Flag, name: str) -> None:
        """Warn about an option that overwrites another value, in llama-server's words, or has a warning of its own."""
        if flag.field in self._variables:
            self.warnings.append(
                f"warn: {self._variables[flag.field]} environment variable is set, but will be overwritten by command"
                f" line argument {name}"
            )
        elif flag.names[0] in self._seen and flag.kind not in (*ADDS_UP, Kind.SWITCH):
            self.warnings.append(
                f"DEPRECATED: argument '{name}' specified multiple times, use comma-separated values instead"
                " (only last value will be used)"
            )
        if flag.warning:
            self.warnings.append(f"warn: {name}: {flag.warning}")


def _together(before: object, value: object) -> object:
    """What two words of an option that adds up say."""
    if isinstance(before, tuple) and isinstance(value, tuple):
        return (*before, *value)
    assert isinstance(before, dict)
    assert isinstance(value, dict)
    return before | value


def _value(flag: Flag, text: str) -> object:
    """The value of a variable. A switch without a negative form is on or left alone, whatever the word (spec §1.1)."""
    if flag.kind is not Kind.SWITCH:
        return converted(flag, text)
    return boolean(text) if flag.negative else text in TRUE_WORDS


def _flag(name: str, word: str) -> Flag:
    if name in REFUSED:
        raise FlagError(f"error: {name} is not possible here: {REFUSED[name]}")
    flag = BY_NAME.get(name)
    if flag is None:
        raise FlagError(f"error: invalid argument: {word}")
    return flag
