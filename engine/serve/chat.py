"""Chat bodies: checking them and rendering them with the model's template (spec §7.10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..model.chat_template import ChatTemplateError, render_chat
from ..model.interface import Tokenizer
from ..model.template_caps import read_caps
from .errors import ThrownError
from .fields import to_int32
from .json_words import not_of_type, type_name
from .messages import Message, join_parts, read_messages, with_called_objects, with_contents
from .tools import check_tools
from .unfollowed import REASONING_FORMATS

__all__ = ["ChatPrompt", "ChatRules", "read_chat"]

FAILED = "Unable to generate parser for this template. Automatic parser generation failed:"
CHANNEL = "<|channel|>"  # only templates with it tell developers from the system
CHAT_FORMAT = 2  # "peg-native", by its number
JSON_FORMATS = ("json_object", "json_schema")
MOST_PROBS = 20  # of a body that asks for probabilities and does not say how many


@dataclass(frozen=True, slots=True)
class ChatPrompt:
    """The rendered text, and the text of a last message to go on with; a stream may not repeat that.

    ``fields`` are those of a completion that the chat sets, whatever the body says.
    """

    text: str
    prefill: str = ""
    streamed_prefill: str = ""
    fields: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChatRules:
    """What the command line says about chats; ``variables`` are seen by the template unless a body says otherwise.

    ``thinks`` None = unless the body wants no effort.
    """

    variables: Mapping[str, object] = field(default_factory=dict)
    thinks: bool | None = None
    prefills: bool = True


@dataclass(frozen=True, slots=True)
class _Renderer:
    """A template with all it sees besides the messages."""

    tokenizer: Tokenizer
    template: str
    variables: Mapping[str, object]

    def render(self, messages: Sequence[Message]) -> tuple[str, str, str]:
        """The text of the messages, the same with what asks for an answer after them, and that alone."""
        caps = read_caps(self.template)
        told = messages if CHANNEL in self.template else [_of_the_system(message) for message in messages]
        if caps.only_text or caps.only_parts:
            told = with_contents(told, as_parts=caps.only_parts)
        if not caps.supports_system_role:
            told = _merged(told)
        if caps.supports_object_arguments:
            told = with_called_objects(told)
        plain, asking = self._text(told, add=False), self._text(told, add=True)
        pairs = enumerate(zip(plain, asking, strict=False))
        same = next((place for place, (one, other) in pairs if one != other), min(len(plain), len(asking)))
        return plain, asking, asking[same:]

    def _text(self, messages: Sequence[Message], *, add: bool) -> str:
        bos, eos = self._spelled(self.tokenizer.bos), self._spelled(self.tokenizer.eos)
        variables = {"bos_token": bos, "eos_token": eos, **self.variables}
        try:
            text = render_chat(self.template, messages, add_generation_prompt=add, variables=variables)
            return text.removeprefix(bos) if self.tokenizer.add_bos else text
        except ChatTemplateError as error:
            raise ThrownError(f"{FAILED} {error}") from None

    def _spelled(self, token: int | None) -> str:
        return "" if token is None else self.tokenizer.piece(token, special=True).decode("utf-8", "replace")


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
    renderer = _Renderer(tokenizer, template, _variables(body, rules))
    if goes_on:
        return _continued(body, messages, renderer)
    plain, asking, generation_prompt = renderer.render(messages)
    return ChatPrompt(asking if add else plain, fields=_fields(body, generation_prompt))


def _continued(body: Mapping[str, object], messages: Sequence[Message], renderer: _Renderer) -> ChatPrompt:
    """A last message that is the beginning of the answer; its parts stand two lines apart."""
    plain, _, generation_prompt = renderer.render(messages[:-1])
    given = body["messages"]
    last = given[-1] if isinstance(given, list) and given else {}
    begun, told = join_parts(last.get("content"), "\n\n"), body.get("continue_final_message")
    prefill = "" if told == "reasoning_content" else begun
    if begun or any(last.get(name) for name in ("tool_calls", "reasoning_content", "name", "tool_call_id")):
        generation_prompt += prefill
        plain += generation_prompt
    is_repeated = not _wants_continuation(body) or body.get("echo") is True
    return ChatPrompt(plain, prefill, prefill if is_repeated else "", _fields(body, generation_prompt))


def _merged(messages: Sequence[Message]) -> Sequence[Message]:
    """A first message of the system goes into the next one, and is left out where there is none."""
    if not messages or messages[0]["role"] != "system":
        return messages
    first, *others = messages
    if not others:
        return others
    if not (isinstance(one := first["content"], str) and isinstance(other := others[0]["content"], str)):
        raise ThrownError(not_of_type("string", []))
    content = f"{one}\n{other}"
    return [{**others[0], "content": content}, *others[1:]]


def _of_the_system(message: Message) -> Message:
    return {**message, "role": "system"} if message["role"] == "developer" else message


def _check_response_format(value: object) -> None:
    kind = value.get("type") if isinstance(value, dict) else None
    if isinstance(kind, str) and kind not in ("", "text", *JSON_FORMATS):
        raise ThrownError(f'response_format type must be one of "text" or "json_object", but got: {kind}')


def _wants_continuation(body: Mapping[str, object]) -> bool:
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
    """What the template sees by name: the body may add to it."""
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
