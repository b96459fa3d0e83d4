"""What a chat template knows: found out by rendering and watching what it looks at, as llama-server does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from .chat_template import ChatTemplateError, kept_reasoning, render, with_effort
from .template_watch import WatchedText, watched

__all__ = ["TemplateCaps", "read_caps"]

TEXT_MARK = "STRING_MARKER"
THOUGHT_MARK = "<REASONING_CONTENT_PLACEHOLDER>"
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class TemplateCaps:
    """The names are those of /props."""

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
    """Find out what a template knows."""
    caps = _of_tools(template, _of_content(template, TemplateCaps()))
    return replace(
        caps,
        supports_system_role=_knows_system(template),
        supports_preserve_reasoning=_keeps_thoughts(template),
        supports_reasoning_effort=_knows_effort(template),
    )


def _tried(template: str, messages: Any, variables: Mapping[str, object] | None = None) -> str | None:
    """What it makes of these messages; None = it fails."""
    known = {"messages": messages, "tools": [], "bos_token": "", "eos_token": "", "add_generation_prompt": True}
    try:
        return render(template, {**known, **(variables or {})}, 0)
    except ChatTemplateError:
        return None


def _said(role: str, content: object, **more: object) -> Json:
    return {"role": role, "content": content, **more}


def _of_content(template: str, caps: TemplateCaps) -> TemplateCaps:
    messages = watched([_said("user", TEXT_MARK)])
    shown = _tried(template, messages)
    content = messages[0]["content"]
    takes_text = shown is not None and not (content.walked and TEXT_MARK not in shown)
    takes_parts = content.walked
    if content.tested:
        empty = watched([_said("user", [])])
        rendered = _tried(template, empty) is not None
        takes_parts = takes_parts or (rendered and empty[0]["content"].walked)
    return replace(caps, supports_string_content=takes_text, supports_typed_content=takes_parts)


def _knows_system(template: str) -> bool:
    messages = watched([_said("system", "System message"), _said("user", "User message")])
    _tried(template, messages)
    return "content" in messages[0].asked


def _call(arguments: object, number: int) -> Json:
    return {"id": f"call0000{number}", "type": "function", "function": {"name": "tool1", "arguments": arguments}}


def _use_of_tools(*calls: Json) -> Any:
    return watched(
        [
            _said("user", "User message"),
            _said("assistant", "", tool_calls=list(calls)),
            _said("tool", "Tool response", tool_call_id="call00001"),
            _said("assistant", "The tool response was 'tool response'"),
            _said("user", "User message"),
        ]
    )


def _tools() -> Any:
    argument = {"type": "string", "description": "Arg description"}
    parameters = {"type": "object", "properties": {"arg": argument}, "required": ["arg"]}
    function = {"name": "tool1", "description": "Tool description", "parameters": parameters}
    return watched([{"name": "tool", "type": "function", "function": function}])


def _of_tools(template: str, caps: TemplateCaps) -> TemplateCaps:
    """Tools and their calls, with arguments as an object, else as a text, then two calls at once."""
    caps = _of_call(template, caps, {"arg": "value"})
    if not caps.supports_object_arguments:
        caps = _of_call(template, caps, '{"arg": "value"}')
    arguments: object = {"arg": "value"} if caps.supports_object_arguments else '{"arg": "value"}'
    messages = _use_of_tools(_call(arguments, 1), _call(arguments, 2))
    rendered = _tried(template, messages, {"tools": _tools()}) is not None
    second = messages[1]["tool_calls"][1]
    return replace(caps, supports_parallel_tool_calls=rendered and "function" in second.asked)


def _of_call(template: str, caps: TemplateCaps, arguments: object) -> TemplateCaps:
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
    first, second = (_said("assistant", "Assistant message", reasoning_content=text) for text in (THOUGHT_MARK, "R"))
    user = _said("user", "User message")
    shown = _tried(template, [user, first, user, second, user], {"enable_thinking": True, **kept_reasoning(kept=True)})
    return THOUGHT_MARK in (shown or "")


def _knows_effort(template: str) -> bool:
    effort = WatchedText("low")
    _tried(template, [_said("user", "User message")], {"enable_thinking": True, **with_effort(effort)})
    return effort.used
