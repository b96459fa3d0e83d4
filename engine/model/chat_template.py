"""Chat templates from model files: Jinja in a sandbox with bounded work (spec §7.10)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from datetime import datetime
from functools import lru_cache
from typing import Any, NoReturn

from jinja2 import ChainableUndefined, Template, TemplateError, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import SandboxedEnvironment

from .template_watch import note_text_test, read_deep

__all__ = ["CHATML", "ChatTemplateError", "kept_reasoning", "render", "render_chat", "with_effort"]

CHATML = (
    "{%- for message in messages -%}\n"
    "  {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' -}}\n"
    "{%- endfor -%}\n"
    "{%- if add_generation_prompt -%}\n"
    "  {{- '<|im_start|>assistant\n' -}}\n"
    "{%- endif -%}"
)
"""The template where there is none."""
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
    """Render messages. ``variables`` are what the template sees besides, by name; they come before its own.

    Raises `ChatTemplateError`, also where the text grows out of proportion to the messages.
    """
    given = variables or {}
    now = datetime.now().astimezone()
    days = {"datetime": now.strftime("%b %d %Y"), "date_string": now.strftime("%d %b %Y")}
    known: dict[str, object] = {"messages": deepcopy(messages), "bos_token": "", "eos_token": "", **days}
    if isinstance(kept := given.get("preserve_reasoning"), bool):
        known |= kept_reasoning(kept=kept)
    if isinstance(effort := given.get("reasoning_effort"), str):
        known |= with_effort(effort)
    asks = {"add_generation_prompt": True} if add_generation_prompt else {}
    return render(template or CHATML, {**known, **given, **asks}, len(str(messages)))


def kept_reasoning(*, kept: bool) -> dict[str, object]:
    """The names by which templates ask whether the thoughts of earlier answers stay."""
    gone = dict.fromkeys(("clear_thinking", "truncate_history_thinking", "drop_thinking"), not kept)
    return {"preserve_thinking": kept, **gone}


def with_effort(effort: str) -> dict[str, object]:
    """The names by which templates ask how much thought is wanted."""
    return {"reasoning_effort": effort, "reasoning_strength": effort}


def render(template: str, variables: Mapping[str, object], length: int) -> str:
    """Render with these variables alone; ``length`` = that of the messages. Raises `ChatTemplateError`."""
    try:
        parts = _compiled(template).generate({"range": _Counter(), **variables})
        return "".join(_bounded(parts, MOST_GROWTH + MOST_USES * length))
    except Exception as error:
        first = str(error).splitlines()
        raise ChatTemplateError(first[0] if first else repr(error)) from None


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


class _Environment(SandboxedEnvironment):
    """The sandbox, which also refuses products and powers that would take much memory."""

    intercepted_binops = frozenset(("*", "**"))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Multiply, within bounds."""
        size = abs(right) if isinstance(right, int) else abs(left) if isinstance(left, int) else 0
        grows = operator == "**" or any(isinstance(side, Sequence) for side in (left, right))
        if grows and size * max(_size(left), _size(right)) > MOST_GROWTH:
            raise TemplateError("it multiplies without measure")
        return super().call_binop(context, operator, left, right)


class _Nothing(ChainableUndefined):
    """What is not there: so is all that is in it, and a text stays what it is beside it."""

    def __add__(self, other: object) -> str:  # type: ignore[override]
        return other if isinstance(other, str) else self._fail_with_undefined_error()

    __radd__ = __add__  # type: ignore[assignment]


def _shown(value: object) -> object:
    """What is printed of a value: nothing of none and of objects, and the items of a list."""
    if value is None or isinstance(value, Mapping):
        return ""
    return "".join(str(_shown(item)) for item in value) if isinstance(value, list | tuple) else value


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
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.loopcontrols", _Generation],
        undefined=_Nothing,
        finalize=_shown,
    )
    environment.filters["tojson"] = _to_json
    environment.filters["format"] = _format
    environment.tests["string"] = _is_text
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
    read_deep(value)
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _is_text(value: object) -> bool:
    note_text_test(value)
    return isinstance(value, str)


def _format(pattern: str, *values: object) -> str:
    """llama-server's filter: each ``{}`` is the place of a value."""
    first, *rest = pattern.split("{}")
    if "{" in "".join((first, *rest)) or len(rest) > len(values):
        raise TemplateError("format takes {} alone, with a value for each")
    return first + "".join(f"{value}{text}" for value, text in zip(values, rest, strict=False))


def _refuse(message: str) -> NoReturn:
    raise TemplateError(message)


def _now(pattern: str) -> str:
    return datetime.now().astimezone().strftime(pattern)
