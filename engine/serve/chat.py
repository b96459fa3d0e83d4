"""Chat bodies: checking messages and rendering them with the model's template (spec §7.10)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..model.chat_template import ChatTemplateError, render_chat
from ..model.interface import Tokenizer
from .body import type_name, write_json
from .errors import ThrownError, not_supported

__all__ = ["ChatPrompt", "read_chat"]

Message = dict[str, object]


@dataclass(frozen=True, slots=True)
class ChatPrompt:
    """The rendered text, the part after the last message, and the text of an assistant message to go on with."""

    text: str
    generation_prompt: str = ""
    prefill: str = ""


def read_chat(body: Mapping[str, object], tokenizer: Tokenizer, template: str) -> ChatPrompt:
    """Check and render ``messages``. Raises `ApiError`."""
    if body.get("tools"):
        raise not_supported("tools")
    messages = _messages(body)
    wants_prompt = body.get("add_generation_prompt")
    add = wants_prompt if isinstance(wants_prompt, bool) else True
    if messages and messages[-1]["role"] == "assistant":
        return _continued(messages, tokenizer, template)
    plain = _render(messages, tokenizer, template, add=False)
    if not add:
        return ChatPrompt(plain)
    text = _render(messages, tokenizer, template, add=True)
    return ChatPrompt(text, text[len(plain) :] if text.startswith(plain) else "")


def _continued(messages: list[Message], tokenizer: Tokenizer, template: str) -> ChatPrompt:
    """A last assistant message is the beginning of the answer."""
    if len(messages) > 1 and messages[-2]["role"] == "assistant":
        raise ThrownError("Cannot have 2 or more assistant messages at the end of the list.")
    prefill = str(messages[-1]["content"] or "")
    if not prefill:
        return ChatPrompt(_render(messages[:-1], tokenizer, template, add=False))
    text = _render(messages[:-1], tokenizer, template, add=True)
    return ChatPrompt(text + prefill, "", prefill)


def _render(messages: list[Message], tokenizer: Tokenizer, template: str, *, add: bool) -> str:
    spelled = {
        name: tokenizer.piece(token, special=True).decode("utf-8", "replace") if token is not None else ""
        for name, token in (("bos", tokenizer.bos), ("eos", tokenizer.eos))
    }
    try:
        return render_chat(template, messages, add_generation_prompt=add, bos=spelled["bos"], eos=spelled["eos"])
    except ChatTemplateError as error:
        raise ThrownError(str(error)) from None


def _messages(body: Mapping[str, object]) -> list[Message]:
    messages = body.get("messages")
    if "messages" not in body:
        raise ThrownError("'messages' is required")
    if not isinstance(messages, list):
        raise ThrownError("Expected 'messages' to be an array")
    return [_message(message) for message in messages]


def _message(value: object) -> Message:
    if not isinstance(value, dict):
        raise ThrownError("All non-assistant messages must contain 'content'")
    if "role" not in value:
        raise ThrownError(f"Failed to parse messages: Missing 'role' in message: {write_json(value)}", "server_error")
    role = value["role"]
    if not isinstance(role, str):
        why = f"[json.exception.type_error.302] type must be string, but is {type_name(role)}"
        raise ThrownError(f"Failed to parse messages: {why}", "server_error")
    if role == "assistant" and value.get("content") is None and not value.get("tool_calls"):
        raise ThrownError("Assistant message must contain either 'content' or 'tool_calls'!")
    if role != "assistant" and "content" not in value:
        raise ThrownError("All non-assistant messages must contain 'content'")
    return {**value, "content": _content(value.get("content"))}


def _content(value: object) -> str:
    """A string, or text parts joined with newlines."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        raise ThrownError("Expected 'content' to be a string or an array")
    return "\n".join(_part(part) for part in value)


def _part(value: object) -> str:
    if not isinstance(value, dict) or value.get("type") != "text":
        kind = value.get("type") if isinstance(value, dict) else None
        if kind in ("image_url", "input_audio", "video_url"):
            raise not_supported("images, audio or video")
        raise ThrownError("unsupported content[].type")
    return str(value.get("text", ""))
