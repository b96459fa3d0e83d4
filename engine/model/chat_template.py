"""Chat templates from model files: Jinja in a sandbox with bounded work (spec §7.10)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NoReturn

from jinja2 import Template, TemplateError, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

__all__ = ["CHATML", "ChatTemplateError", "render_chat"]

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
MOST_GROWTH = 1_000_000
"""Characters that a template may add to those of the messages, and numbers its ranges may count."""
MOST_USES = 50
"""How often it may repeat the messages' own characters."""


class ChatTemplateError(ValueError):
    """The template refuses the messages or cannot be run; the text is one line."""


def render_chat(
    template: str,
    messages: Sequence[Mapping[str, object]],
    *,
    add_generation_prompt: bool = True,
    variables: Mapping[str, object] | None = None,
) -> str:
    """Render messages; an empty template means ChatML. ``variables`` are what it sees besides, by name.

    Raises `ChatTemplateError`, also where the text grows out of proportion to the messages.
    """
    most = MOST_GROWTH + MOST_USES * len(str(messages))
    try:
        seen = {"bos_token": "", "eos_token": "", "tools": None, **(variables or {})}
        own = {"messages": messages, "add_generation_prompt": add_generation_prompt, "range": _Counter()}
        parts = _compiled(template or CHATML).generate({**seen, **own})
        return "".join(_bounded(parts, most))
    except Exception as error:
        first = str(error).splitlines()
        raise ChatTemplateError(f"the chat template cannot render this: {first[0] if first else error!r}") from None


def _bounded(parts: Iterable[str], most: int) -> Iterator[str]:
    length = 0
    for part in parts:
        length += len(part)
        if length > most:
            raise TemplateError(f"it makes more than {most:,} characters of it")
        yield part


class _Counter:
    """``range`` with a limit to all numbers that one rendering counts."""

    def __init__(self) -> None:
        self._left = MOST_GROWTH

    def __call__(self, *bounds: int) -> range:
        numbers = range(*bounds)
        self._left -= len(numbers)
        if self._left < 0:
            raise TemplateError(f"its loops count more than {MOST_GROWTH:,} numbers")
        return numbers


class _Environment(ImmutableSandboxedEnvironment):
    """The sandbox, which also refuses products and powers that would take much memory."""

    intercepted_binops = frozenset(("*", "**"))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Multiply, within bounds."""
        size = abs(right) if isinstance(right, int) else abs(left) if isinstance(left, int) else 0
        grows = operator == "**" or any(isinstance(side, Sequence) for side in (left, right))
        if grows and size * max(_size(left), _size(right)) > MOST_GROWTH:
            raise TemplateError("it multiplies without measure")
        return super().call_binop(context, operator, left, right)


def _size(value: object) -> int:
    return len(value) if isinstance(value, Sequence) else value.bit_length() if isinstance(value, int) else 1


class _Generation(Extension):
    """``{% generation %}``, which marks an answer for training: what it holds is rendered as it is."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """The nodes between the two tags."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


@lru_cache(maxsize=8)
def _compiled(template: str) -> Template:
    environment = _Environment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", _Generation]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = _now
    return environment.from_string(template)


def _to_json(
    value: object,
    indent: int | None = None,
    ensure_ascii: bool = False,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _refuse(message: str) -> NoReturn:
    raise TemplateError(message)


def _now(pattern: str) -> str:
    return datetime.now().astimezone().strftime(pattern)
