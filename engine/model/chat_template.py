"""Chat templates from model files: Jinja in a sandbox (spec §7.10)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import NoReturn

from jinja2 import Template, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

__all__ = ["CHATML", "ChatTemplateError", "render_chat"]

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


class ChatTemplateError(ValueError):
    """The template refuses the messages or cannot be run; the text is one line."""


def render_chat(
    template: str,
    messages: Sequence[Mapping[str, object]],
    *,
    add_generation_prompt: bool = True,
    bos: str = "",
    eos: str = "",
) -> str:
    """Render messages; an empty template means ChatML. Raises `ChatTemplateError`."""
    try:
        return _compiled(template or CHATML).render(
            messages=messages, add_generation_prompt=add_generation_prompt, bos_token=bos, eos_token=eos, tools=None
        )
    except (TemplateError, TypeError, ValueError, KeyError, ArithmeticError, RecursionError) as error:
        first = str(error).splitlines()
        raise ChatTemplateError(f"the chat template cannot render this: {first[0] if first else error!r}") from None


@lru_cache(maxsize=8)
def _compiled(template: str) -> Template:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = _now
    return environment.from_string(template)


def _to_json(value: object, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _refuse(message: str) -> NoReturn:
    raise TemplateError(message)


def _now(pattern: str) -> str:
    return datetime.now().astimezone().strftime(pattern)
