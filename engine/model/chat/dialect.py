"""The Jinja that chat templates are written in, as llama-server's own reader takes it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from typing import NoReturn

from jinja2 import ChainableUndefined, Template, TemplateError, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from markupsafe import soft_str

from .limits import LimitedEnvironment
from .watch import note_text_test, read_deep

__all__ = ["compiled"]


@lru_cache(maxsize=8)
def compiled(template: str) -> Template:
    """A template, ready to be rendered. Raises `jinja2.TemplateError`."""
    environment = LimitedEnvironment(
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.loopcontrols", _Generation],
        undefined=_Missing,
        finalize=_printed,
    )
    environment.filters["tojson"] = _to_json
    environment.filters["format"] = _format
    environment.filters["string"] = _spelled
    environment.tests["string"] = _is_text
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = _now
    return environment.from_string(template)


class _Missing(ChainableUndefined):
    """A value that does not exist. Its members do not exist either; added to a text it changes nothing."""

    def __add__(self, other: object) -> str:  # type: ignore[override]
        return other if isinstance(other, str) else self._fail_with_undefined_error()

    __radd__ = __add__  # type: ignore[assignment]


def _printed(value: object) -> object:
    """What ``{{ value }}`` prints: nothing for none and objects, the items of a list one after the other."""
    if value is None or isinstance(value, Mapping):
        return ""
    return "".join(str(_printed(item)) for item in value) if isinstance(value, list | tuple) else value


class _Generation(Extension):
    """``{% generation %}`` … ``{% endgeneration %}``, marks for training, whose content is rendered as it is."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """The nodes between the two tags."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _to_json(
    value: object,
    indent: int | None = None,
    ensure_ascii: bool = False,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """The filter ``tojson``, without the escapes for HTML that Jinja's own makes."""
    return json.dumps(
        read_deep(value),
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
        default=_as_list,
    )


def _as_list(value: object) -> list[object]:
    """What a filter such as ``map`` gives, which Jinja makes one by one. Raises `TypeError`."""
    if not isinstance(value, Iterator):
        raise TypeError(f"a {type(value).__name__} is no JSON")
    return list(value)


def _spelled(value: object) -> str:
    """The filter ``string``."""
    return soft_str(read_deep(value))


def _is_text(value: object) -> bool:
    """The test ``is string``."""
    note_text_test(value)
    return isinstance(value, str)


def _format(pattern: str, *values: object) -> str:
    """The filter ``format``, which here takes ``{}`` for the place of a value, as Python's `str.format` does."""
    first, *rest = pattern.split("{}")
    if "{" in "".join((first, *rest)) or len(rest) > len(values):
        raise TemplateError("format takes {} alone, with a value for each")
    return first + "".join(f"{value}{text}" for value, text in zip(values, rest, strict=False))


def _refuse(message: str) -> NoReturn:
    """``raise_exception(message)``."""
    raise TemplateError(message)


def _now(pattern: str) -> str:
    """``strftime_now(pattern)``."""
    return datetime.now().astimezone().strftime(pattern)
