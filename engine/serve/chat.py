"""From a chat body to its prompt and to the fields of a completion that it sets (spec §7.10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..model.interface import Tokenizer
from .chat_renderer import ChatRenderer
from .errors import ThrownError
from .fields import to_int32
from .json_words import not_of_type, type_name
from .messages import Message, join_parts, read_messages
from .tools import check_tools
from .unfollowed import REASONING_FORMATS

__all__ = ["ChatPrompt", "ChatRules", "read_chat"]

CHAT_FORMAT = 2  # "peg-native", by its number
JSON_FORMATS = ("json_object", "json_schema")
MOST_PROBS = 20  # of a body that asks for probabilities and does not say how many


@dataclass(frozen=True, slots=True)
class ChatPrompt:
    """``text``: the rendered prompt. ``fields``: fields of a completion that the chat sets, whatever the body says.

    ``prefill``: the text of a last message that the answer goes on with, "" for none; it stands before the generated
    text. ``streamed_prefill``: as much of it as a stream repeats, which is all or nothing.
    """

    text: str
    prefill: str = ""
    streamed_prefill: str = ""
    fields: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChatRules:
    """What the command line says about chats.

    ``variables``: what templates see by name, where the body says nothing else. ``thinks``: whether thoughts are
    wanted; None = unless the body asks for no effort. ``prefills``: whether an answer goes on with a last message of
    the assistant.
    """

    variables: Mapping[str, object] = field(default_factory=dict)
    thinks: bool | None = None
    prefills: bool = True


def read_chat(
    body: Mapping[str, object], tokenizer: Tokenizer, template: str, rules: ChatRules | None = None
) -> ChatPrompt:
    """Check and render a chat body, in the server's order. Raises `ApiError`."""
    if body.get("json_schema") is not None and isinstance(grammar := body.get("grammar"), str) and grammar:
        raise ThrownError("Cannot use both json_schema and grammar", "server_error")
    _check_response_format(body.get("response_format"))
    rules = rules or ChatRules()
    messages = read_messages(body)
    check_tools(body)
    add, goes_on = _ending(body, messages, rules)
    _check_reasoning_format(body)
    renderer = ChatRenderer(tokenizer, template, _variables(body, rules))
    if goes_on:
        return _continued(body, messages, renderer)
    shown = renderer.render(messages)
    return ChatPrompt(shown.asking if add else shown.plain, fields=_fields(body, shown.generation_prompt))


def _continued(body: Mapping[str, object], messages: Sequence[Message], renderer: ChatRenderer) -> ChatPrompt:
    """The prompt whose last message is the beginning of the answer; an empty line stands between that one's parts."""
    shown = renderer.render(messages[:-1])
    plain, generation_prompt = shown.plain, shown.generation_prompt
    given = body["messages"]
    last = given[-1] if isinstance(given, list) and given else {}
    begun, told = join_parts(last.get("content"), "\n\n"), body.get("continue_final_message")
    prefill = "" if told == "reasoning_content" else begun
    if begun or any(last.get(name) for name in ("tool_calls", "reasoning_content", "name", "tool_call_id")):
        generation_prompt += prefill
        plain += generation_prompt
    is_repeated = not _wants_continuation(body) or body.get("echo") is True
    return ChatPrompt(plain, prefill, prefill if is_repeated else "", _fields(body, generation_prompt))


def _check_response_format(value: object) -> None:
    kind = value.get("type") if isinstance(value, dict) else None
    if isinstance(kind, str) and kind not in ("", "text", *JSON_FORMATS):
        raise ThrownError(f'response_format type must be one of "text" or "json_object", but got: {kind}')


def _wants_continuation(body: Mapping[str, object]) -> bool:
    """Whether the body itself asks for an answer that goes on with the last message."""
    told = body.get("continue_final_message")
    return told is True or told in ("content", "reasoning_content")


def _ending(body: Mapping[str, object], messages: Sequence[Message], rules: ChatRules) -> tuple[bool, bool]:
    """Whether a generation prompt is added, and whether the last message is the beginning of the answer."""
    wanted = body.get("add_generation_prompt")
    add = wanted if isinstance(wanted, bool) else True
    goes_on = _wants_continuation(body)
    by_assistant = bool(messages) and messages[-1]["role"] == "assistant"
    if by_assistant and not goes_on and rules.prefills:
        if len(messages) > 1 and messages[-2]["role"] == "assistant":
            raise ThrownError("Cannot have 2 or more assistant messages at the end of the list.")
        add, goes_on = False, True
    if goes_on and add:
        raise ThrownError("Cannot set both add_generation_prompt and continue_final_message to true.")
    if goes_on and by_assistant and messages[-1].get("tool_calls"):
        raise ThrownError("Cannot continue an assistant message that contains tool calls.")
    return add, goes_on


def _check_reasoning_format(body: Mapping[str, object]) -> None:
    if "reasoning_format" not in body:
        return
    name = body["reasoning_format"]
    if not isinstance(name, str):
        raise ThrownError(not_of_type("string", name))
    if name not in REASONING_FORMATS:
        raise ThrownError(f"Unknown reasoning format: {name}", "server_error")


def _variables(body: Mapping[str, object], rules: ChatRules) -> dict[str, object]:
    """What the template sees by name, besides the messages: what the command line says, and over it the body."""
    given = body.get("chat_template_kwargs")
    variables = {**rules.variables, **(given if isinstance(given, dict) else {})}
    if isinstance(thinks := variables.get("enable_thinking"), str):
        kind = type_name(thinks)
        raise ThrownError(f'invalid type for "enable_thinking" (expected boolean, got {kind})')
    effort = body.get("reasoning_effort")
    if effort == "none":
        variables.pop("reasoning_effort", None)
    elif isinstance(effort, str) and effort:
        variables["reasoning_effort"] = effort
    thinks = effort != "none" if rules.thinks is None else rules.thinks
    return {"enable_thinking": thinks, **variables}


def _fields(body: Mapping[str, object], generation_prompt: str) -> dict[str, object]:
    """The fields of a completion that a chat sets. Raises `ThrownError`."""
    fields: dict[str, object] = {
        "chat_format": CHAT_FORMAT,
        "generation_prompt": generation_prompt,
        "grammar_lazy": False,
        "grammar_triggers": [],
        "preserved_tokens": [],
        "chat_parser": None,
    }
    wanted, top = body.get("response_format"), body.get("top_logprobs")
    if isinstance(wanted, dict) and wanted.get("type") in JSON_FORMATS:
        fields["json_schema"] = {}
    if body.get("logprobs") is True:
        fields["n_probs"] = to_int32(top) if isinstance(top, int | float) else MOST_PROBS
    elif top is not None:
        raise ThrownError("top_logprobs requires logprobs to be set to true")
    return fields
