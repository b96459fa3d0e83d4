"""How the prompt of a chat ends: with what asks for an answer, or with the beginning of one (spec §7.10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slotview.engine.model.chat.thoughts import ThoughtTags

from ..bodies.fields import lenient
from ..errors import ThrownError
from .messages import Message, join_parts

__all__ = ["begun_answer", "last_message", "read_ending", "up_to_tag", "wants_continuation"]


def wants_continuation(body: Mapping[str, object]) -> bool:
    """Whether the body itself asks for an answer that goes on with the last message."""
    told = body.get("continue_final_message")
    return told is True or told in ("content", "reasoning_content")


def read_ending(body: Mapping[str, object], messages: Sequence[Message], *, prefills: bool) -> tuple[bool, bool]:
    """Whether a generation prompt is added, and whether the last message is the beginning of the answer.

    ``prefills``: whether it is, where it is the assistant's and the body says nothing. Raises `ThrownError`.
    """
    lenient(body, "parallel_tool_calls", default=False)
    add = lenient(body, "add_generation_prompt", default=True)
    goes_on = wants_continuation(body)
    by_assistant = bool(messages) and messages[-1]["role"] == "assistant"
    if by_assistant and not goes_on and prefills:
        if len(messages) > 1 and messages[-2]["role"] == "assistant":
            raise ThrownError("Cannot have 2 or more assistant messages at the end of the list.")
        add, goes_on = False, True
    if goes_on and add:
        raise ThrownError("Cannot set both add_generation_prompt and continue_final_message to true.")
    if goes_on and by_assistant and messages[-1].get("tool_calls"):
        raise ThrownError("Cannot continue an assistant message that contains tool calls.")
    return add, goes_on


def last_message(body: Mapping[str, object]) -> Mapping[str, object] | None:
    """The last message as it was given; None = there is none, or nothing in it."""
    given = body["messages"]
    last = given[-1] if isinstance(given, list) and given else {}
    names = ("tool_calls", "reasoning_content", "name", "tool_call_id")
    return last if join_parts(last.get("content"), "") or any(last.get(name) for name in names) else None


def begun_answer(asked: str, last: Mapping[str, object], told: object, tags: ThoughtTags | None) -> str:
    """The generation prompt with the beginning of the answer; an empty line stands between the parts of a content."""
    thoughts, content = last.get("reasoning_content") or "", join_parts(last.get("content"), "\n\n")
    thinks_on = told == "reasoning_content" or (told != "content" and thoughts and not content)
    if tags and tags.start:
        asked = f"{asked.partition(tags.start)[0]}{tags.start}{thoughts}{'' if thinks_on else tags.end}"
    return asked if thinks_on else asked + content


def up_to_tag(asked: str, tags: ThoughtTags | None) -> str:
    """A generation prompt without the tag that it ends with, which belongs to the answer."""
    tag = tags.bare[0] if tags else ""
    return asked.partition(tag)[0] if tag else asked
