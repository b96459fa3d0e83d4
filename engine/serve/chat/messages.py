"""The messages of a chat body: checked, and brought into the form that templates see (spec §7.10)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from ..bodies.fields import lenient
from ..bodies.json_text import write_json
from ..bodies.json_words import items_of, no_key, not_of_type
from ..errors import ThrownError
from .tools import function_of

__all__ = ["Message", "join_parts", "read_messages", "with_called_objects", "with_contents"]

Message = dict[str, object]
MEDIA = {"image_url": "image", "input_audio": "audio", "input_video": "video", "video_url": "video"}


def read_messages(body: Mapping[str, object]) -> list[Message]:
    """Check all messages as the server does, in two rounds. Raises `ThrownError`."""
    if "messages" not in body:
        raise ThrownError("'messages' is required")
    messages = body["messages"]
    if not isinstance(messages, list):
        raise ThrownError("Expected 'messages' to be an array")
    for message in messages:
        _check(message)
    try:
        return [_message(message) for message in messages]
    except ValueError as error:
        raise ThrownError(f"Failed to parse messages: {error}", "server_error") from None


def join_parts(content: object, between: str) -> str:
    """The text of a content, which is a string or a list of parts; ``between`` stands between two parts."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    text = ""
    for part in content:
        text += between * bool(text) + part["text"]
    return text


def with_contents(messages: Sequence[Message], *, as_parts: bool) -> list[Message]:
    """The messages with all contents as lists of parts, or all as texts."""
    return [{**message, "content": _content(message["content"], as_parts=as_parts)} for message in messages]


def _content(content: object, *, as_parts: bool) -> object:
    if as_parts:
        return [{"type": "text", "text": content}] if isinstance(content, str) else content
    return join_parts(content, "\n")


def with_called_objects(messages: Sequence[Message]) -> list[Message]:
    """The messages with the arguments of tool calls as JSON values instead of texts. Raises `ThrownError`."""
    return [
        {**message, "tool_calls": [_with_values(call) for call in calls]} if isinstance(calls, list) else message
        for message in messages
        for calls in [message.get("tool_calls")]
    ]


def _with_values(call: Message) -> Message:
    function = call["function"]
    assert isinstance(function, dict)
    try:
        arguments = json.loads(function["arguments"])
    except (ValueError, RecursionError) as error:
        raise ThrownError(f"Failed to parse tool call arguments as JSON: {error}", "server_error") from None
    return {**call, "function": {**function, "arguments": arguments}}


def _check(message: object) -> None:
    """The first round: what a message must hold."""
    members = message if isinstance(message, dict) else {}
    if lenient(members, "role", "") == "assistant":
        if not {"content", "tool_calls"} & members.keys():
            raise ThrownError("Assistant message must contain either 'content' or 'tool_calls'!")
    elif "content" not in members:
        raise ThrownError("All non-assistant messages must contain 'content'")
    content = members.get("content")
    if content is None or isinstance(content, str):
        return
    if not isinstance(content, list):
        raise ThrownError("Expected 'content' to be a string or an array")
    for part in content:
        _check_part(part)


def _check_part(part: object) -> None:
    kind = lenient(part, "type", "") if isinstance(part, dict) else ""
    if kind in MEDIA:
        hint = "hint: if this is unexpected, you may need to provide the mmproj"
        raise ThrownError(f"{MEDIA[kind]} input is not supported - {hint}", "server_error")
    if kind != "text":
        raise ThrownError("unsupported content[].type")


def _message(given: Message) -> Message:
    """The second round: checks types and returns what templates see of a message. Raises `ValueError`."""
    if "role" not in given:
        raise ValueError(f"Missing 'role' in message: {write_json(given)}")
    message: Message = {"role": _text(given, "role")}
    content = given.get("content")
    parts = [{"type": "text", "text": _text(part, "text")} for part in content] if isinstance(content, list) else []
    message["content"] = parts or (content if isinstance(content, str) else "")
    calls = [_call(call) for call in items_of(given.get("tool_calls"))]
    for name in ("reasoning_content", "name", "tool_call_id"):
        if name in given and (text := _text(given, name)):
            message[name] = text
    return {**message, "tool_calls": calls} if calls else message


def _text(members: Mapping[str, object], name: str) -> str:
    """A member that has to be a text. Raises `ValueError`."""
    if name not in members:
        raise ValueError(no_key(name))
    value = members[name]
    if not isinstance(value, str):
        raise ValueError(not_of_type("string", value))
    return value


def _call(given: object) -> Message:
    """One call of a tool by the assistant. Raises `ValueError`."""
    call = given if isinstance(given, dict) else {}
    function = function_of(given, "tool call")
    if not isinstance(function, dict) or "name" not in function:
        raise ValueError(f"Missing tool call name: {write_json(given)}")
    name = _text(function, "name")
    if "arguments" not in function:
        raise ValueError(no_key("arguments"))
    arguments = function["arguments"]
    spelled = arguments if isinstance(arguments, str) else write_json(arguments)
    shown: Message = {"type": "function", "function": {"name": name, "arguments": spelled}}
    return {**shown, "id": _text(call, "id")} if call.get("id", "") != "" else shown
