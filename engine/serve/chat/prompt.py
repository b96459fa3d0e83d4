"""From a chat body to its prompt and to the fields of a completion that it sets (spec §7.10)."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from slotview.engine.model.chat.thoughts import ThoughtTags, read_thought_tags
from slotview.engine.model.interface import Tokenizer

from ..bodies.fields import lenient
from ..bodies.json_words import not_of_type, type_name
from ..bodies.unfollowed import REASONING_FORMATS
from ..errors import ThrownError
from .ending import begun_answer, last_message, read_ending, up_to_tag, wants_continuation
from .messages import read_messages
from .renderer import ChatRenderer
from .thoughts import PLAIN_ANSWER, AnswerReader
from .tools import check_tools

__all__ = ["ChatPrompt", "ChatRules", "read_chat"]

CHAT_FORMAT = 2  # "peg-native", by its number
JSON_FORMATS = ("json_object", "json_schema")
MOST_PROBS = 20  # of a body that asks for probabilities and does not say how many


class ChatPrompt(Struct, frozen=True):
    """``text``: the rendered prompt. ``fields``: fields of a completion that the chat sets, whatever the body says.

    ``reader``: reads the answer. ``repeats``: whether a stream repeats what the answer goes on with.
    """

    text: str
    reader: AnswerReader = PLAIN_ANSWER
    repeats: bool = True
    fields: Mapping[str, object] = field(default_factory=dict)


class ChatRules(Struct, frozen=True):
    """What the command line says about chats.

    ``variables``: what templates see by name, where the body says nothing else. ``prefills``: whether an answer goes
    on with a last message of the assistant.
    """

    variables: Mapping[str, object] = field(default_factory=dict)
    prefills: bool = True
    reasoning_format: str = "deepseek"


def read_chat(
    body: Mapping[str, object], tokenizer: Tokenizer, template: str, rules: ChatRules | None = None
) -> ChatPrompt:
    """Check and render a chat body, in the server's order. Raises `ApiError`."""
    lenient(body, "stream", default=False)
    tool_choice = lenient(body, "tool_choice", "auto")
    grammar = lenient(body, "grammar", "")
    if grammar and body.get("json_schema") is not None:
        raise ThrownError("Cannot use both json_schema and grammar", "server_error")
    _check_response_format(body.get("response_format"))
    rules = rules or ChatRules()
    messages = read_messages(body)
    check_tools(body, tool_choice)
    add, goes_on = read_ending(body, messages, prefills=rules.prefills)
    extracts = _reasoning_format(body, rules) != "none"
    tags = read_thought_tags(template)
    renderer = ChatRenderer(tokenizer, template, _variables(body, rules, knows_thoughts=tags is not None))
    shown = renderer.render(messages[:-1] if goes_on else messages)
    text, asked = shown.asking if add else shown.plain, shown.generation_prompt
    if goes_on and (last := last_message(body)):
        asked = begun_answer(asked, last, body.get("continue_final_message"), tags)
        text += asked
    begun = asked[len(up_to_tag(shown.generation_prompt, tags)) :]
    repeats = not wants_continuation(body) or body.get("echo") is True
    return ChatPrompt(text, AnswerReader(begun, tags, extracts), repeats, _fields(body, asked, tags))


def _check_response_format(value: object) -> None:
    kind = lenient(value, "type", "") if isinstance(value, dict) else ""
    if kind not in ("", "text", *JSON_FORMATS):
        raise ThrownError(f'response_format type must be one of "text" or "json_object", but got: {kind}')


def _reasoning_format(body: Mapping[str, object], rules: ChatRules) -> str:
    """How thoughts are shown. Raises `ThrownError`."""
    name = body.get("reasoning_format", rules.reasoning_format)
    if not isinstance(name, str):
        raise ThrownError(not_of_type("string", name))
    if name not in REASONING_FORMATS:
        raise ThrownError(f"Unknown reasoning format: {name}", "server_error")
    return name


def _variables(body: Mapping[str, object], rules: ChatRules, *, knows_thoughts: bool) -> dict[str, object]:
    """What the template sees by name, besides the messages: what the command line says, and over it the body."""
    given = body.get("chat_template_kwargs")
    variables = {**rules.variables, **(given if isinstance(given, dict) else {})}
    if isinstance(thinks := variables.get("enable_thinking"), str):
        kind = type_name(thinks)
        raise ThrownError(f'invalid type for "enable_thinking" (expected boolean, got {kind})')
    effort = lenient(body, "reasoning_effort", "")
    if effort == "none":
        variables.pop("reasoning_effort", None)
    elif effort:
        variables["reasoning_effort"] = effort
    return {"enable_thinking": knows_thoughts and effort != "none", **variables}


def _fields(body: Mapping[str, object], generation_prompt: str, tags: ThoughtTags | None) -> dict[str, object]:
    """The fields of a completion that a chat sets. Raises `ThrownError`."""
    fields: dict[str, object] = {
        "chat_format": CHAT_FORMAT,
        "generation_prompt": generation_prompt,
        "grammar_lazy": False,
        "grammar_triggers": [],
        "preserved_tokens": [tag for tag in tags.bare if tag] if tags else [],
        "chat_parser": None,
    }
    wanted, top = body.get("response_format"), body.get("top_logprobs")
    if isinstance(wanted, dict) and wanted.get("type") in JSON_FORMATS:
        fields["json_schema"] = {}
    lenient(body, "reasoning_budget_tokens", lenient(body, "thinking_budget_tokens", -1))
    if lenient(body, "logprobs", default=False):
        fields["n_probs"] = lenient(body, "top_logprobs", MOST_PROBS)
    elif top is not None:
        raise ThrownError("top_logprobs requires logprobs to be set to true")
    return fields
