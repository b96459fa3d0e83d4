"""Which roles, types and fields of messages a chat template knows.

Found out as llama-server does: a template is rendered with messages that note what it looks at.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from .template import ChatTemplateError, kept_reasoning, render, with_effort
from .watch import WatchedText, watched

__all__ = ["TemplateCaps", "read_caps"]

TEXT_MARK = "STRING_MARKER"
THOUGHT_MARK = "<REASONING_CONTENT_PLACEHOLDER>"
Json = dict[str, Any]


class TemplateCaps(Struct, frozen=True):
    """What a template can do, by the names of ``chat_template_caps`` in /props."""

    supports_object_arguments: bool = False
    supports_parallel_tool_calls: bool = True
    supports_preserve_reasoning: bool = False
    supports_reasoning_effort: bool = False
    supports_string_content: bool = True
    supports_system_role: bool = True
    supports_tool_calls: bool = True
    supports_tools: bool = True
    supports_typed_content: bool = False

    @property
    def only_text(self) -> bool:
        """Whether contents have to be texts."""
        return self.supports_string_content and not self.supports_typed_content

    @property
    def only_parts(self) -> bool:
        """Whether contents have to be lists of parts."""
        return self.supports_typed_content and not self.supports_string_content


@lru_cache(maxsize=8)
def read_caps(template: str) -> TemplateCaps:
    """Find out what a template can do, by rendering it several times."""
    caps = _of_tools(template, _of_content(template, TemplateCaps()))
    return replace(
        caps,
        supports_system_role=_knows_system(template),
        supports_preserve_reasoning=_keeps_thoughts(template),
        supports_reasoning_effort=_knows_effort(template),
    )


def _tried(template: str, messages: Any, variables: Mapping[str, object] | None = None) -> str | None:
    """The text that a template makes of messages; None = it fails."""
    known = {"messages": messages, "tools": [], "bos_token": "", "eos_token": "", "add_generation_prompt": True}
    try:
        return render(template, {**known, **(variables or {})}, 0)
    except ChatTemplateError:
        return None


def _message(role: str, content: object, **more: object) -> Json:
    return {"role": role, "content": content, **more}


def _of_content(template: str, caps: TemplateCaps) -> TemplateCaps:
    """Whether contents may be texts, and whether they may be lists of parts.

    A template that goes through a text item by item wants parts; so does one that asks whether a content is a text and
    goes through it where it is none.
    """
    messages = watched([_message("user", TEXT_MARK)])
    shown = _tried(template, messages)
    content = messages[0]["content"]
    takes_text = shown is not None and not (content.walked and TEXT_MARK not in shown)
    takes_parts = content.walked
    if content.tested:
        empty = watched([_message("user", [])])
        rendered = _tried(template, empty) is not None
        takes_parts = takes_parts or (rendered and empty[0]["content"].walked)
    return replace(caps, supports_string_content=takes_text, supports_typed_content=takes_parts)


def _knows_system(template: str) -> bool:
    """Whether the content of a message of the system is looked at."""
    messages = watched([_message("system", "System message"), _message("user", "User message")])
    _tried(template, messages)
    return "content" in messages[0].asked


def _call(arguments: object, number: int) -> Json:
    return {"id": f"call0000{number}", "type": "function", "function": {"name": "tool1", "arguments": arguments}}


def _use_of_tools(*calls: Json) -> Any:
    """A watched chat in which the assistant makes these calls."""
    return watched(
        [
            _message("user", "User message"),
            _message("assistant", "", tool_calls=list(calls)),
            _message("tool", "Tool response", tool_call_id="call00001"),
            _message("assistant", "The tool response was 'tool response'"),
            _message("user", "User message"),
        ]
    )


def _tools() -> Any:
    argument = {"type": "string", "description": "Arg description"}
    parameters = {"type": "object", "properties": {"arg": argument}, "required": ["arg"]}
    function = {"name": "tool1", "description": "Tool description", "parameters": parameters}
    return watched([{"name": "tool", "type": "function", "function": function}])


def _of_tools(template: str, caps: TemplateCaps) -> TemplateCaps:
    """Whether tools are shown, and calls: with arguments as an object, else as a text; then two calls at once."""
    caps = _of_call(template, caps, {"arg": "value"})
    if not caps.supports_object_arguments:
        caps = _of_call(template, caps, '{"arg": "value"}')
    arguments: object = {"arg": "value"} if caps.supports_object_arguments else '{"arg": "value"}'
    messages = _use_of_tools(_call(arguments, 1), _call(arguments, 2))
    rendered = _tried(template, messages, {"tools": _tools()}) is not None
    second = messages[1]["tool_calls"][1]
    return replace(caps, supports_parallel_tool_calls=rendered and "function" in second.asked)


def _of_call(template: str, caps: TemplateCaps, arguments: object) -> TemplateCaps:
    """What one call with these arguments tells; a failure counts only where they are a text."""
    messages, tools = _use_of_tools(_call(arguments, 1)), _tools()
    shown = _tried(template, messages, {"tools": tools})
    as_object = isinstance(arguments, dict)
    if shown is None:
        return caps if as_object else replace(caps, supports_tool_calls=False, supports_tools=False)
    if "name" not in tools[0]["function"].asked:
        caps = replace(caps, supports_tools=False)
    if "tool_calls" not in messages[1].asked:
        return replace(caps, supports_tool_calls=False)
    asked = messages[1]["tool_calls"][0]["function"]["arguments"]
    return replace(caps, supports_object_arguments=as_object and "arg" in asked.asked)


def _keeps_thoughts(template: str) -> bool:
    """Whether the thoughts of an earlier answer can be kept in the text."""
    first, second = (_message("assistant", "Assistant message", reasoning_content=text) for text in (THOUGHT_MARK, "R"))
    user = _message("user", "User message")
    shown = _tried(template, [user, first, user, second, user], {"enable_thinking": True, **kept_reasoning(kept=True)})
    return THOUGHT_MARK in (shown or "")


def _knows_effort(template: str) -> bool:
    """Whether it is looked at how much thought is wanted."""
    effort = WatchedText("low")
    _tried(template, [_message("user", "User message")], {"enable_thinking": True, **with_effort(effort)})
    return effort.used
