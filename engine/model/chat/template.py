"""Rendering the messages of a chat with a model's template (spec §7.10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from datetime import datetime

from .dialect import compiled
from .limits import LimitedRange, limited_text

__all__ = ["CHATML", "ChatTemplateError", "kept_reasoning", "render", "render_chat", "with_effort"]

CHATML = (
    "{%- for message in messages -%}\n"
    "  {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' -}}\n"
    "{%- endfor -%}\n"
    "{%- if add_generation_prompt -%}\n"
    "  {{- '<|im_start|>assistant\n' -}}\n"
    "{%- endif -%}"
)
"""The template of models that have none."""


class ChatTemplateError(ValueError):
    """The template refuses the messages or cannot be run; the text is one line."""


def render_chat(
    template: str,
    messages: Sequence[Mapping[str, object]],
    *,
    add_generation_prompt: bool = True,
    variables: Mapping[str, object] | None = None,
) -> str:
    """Render messages. ``variables``: what the template sees besides them, by name; they win over what it sees anyway.

    ``add_generation_prompt``: whether what asks for an answer follows. Raises `ChatTemplateError`, also where the text
    grows out of proportion to the messages.
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
    """Whether the thoughts of earlier answers stay, by all names that templates have for it."""
    gone = dict.fromkeys(("clear_thinking", "truncate_history_thinking", "drop_thinking"), not kept)
    return {"preserve_thinking": kept, **gone}


def with_effort(effort: str) -> dict[str, object]:
    """How much thought is wanted, by all names that templates have for it."""
    return {"reasoning_effort": effort, "reasoning_strength": effort}


def render(template: str, variables: Mapping[str, object], length: int) -> str:
    """Render with these variables alone; ``length``: characters of the messages. Raises `ChatTemplateError`."""
    try:
        return limited_text(compiled(template).generate({"range": LimitedRange(), **variables}), length)
    except Exception as error:
        first = str(error).splitlines()
        raise ChatTemplateError(first[0] if first else repr(error)) from None
