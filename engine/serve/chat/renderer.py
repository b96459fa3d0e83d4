"""From checked messages to the prompt, by the model's template (spec §7.10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from slotview.engine.model.chat.caps import read_caps
from slotview.engine.model.chat.template import ChatTemplateError, render_chat
from slotview.engine.model.interface import Tokenizer

from ..bodies.json_words import not_of_type
from ..bodies.remarks import remark
from ..errors import ThrownError
from .messages import Message, with_called_objects, with_contents

__all__ = ["ChatRenderer", "Rendered"]

FAILED = "Unable to generate parser for this template. Automatic parser generation failed:"
CHANNEL = "<|channel|>"  # only templates with it tell developers from the system


class Rendered(Struct, frozen=True):
    """The text of the messages; the same with the generation prompt, which asks for an answer; and that prompt alone.

    Templates are free in what they add, so the generation prompt is what stands behind the first difference.
    """

    plain: str
    asking: str
    generation_prompt: str


class ChatRenderer(Struct, frozen=True):
    """A template and what it sees besides the messages. ``variables``: by their names in the template."""

    tokenizer: Tokenizer
    template: str
    variables: Mapping[str, object]

    def render(self, messages: Sequence[Message]) -> Rendered:
        """Show the template what it can take. Raises `ThrownError`."""
        messages = self._adapted(messages)
        plain, asking = self._text(messages, add=False), self._text(messages, add=True)
        pairs = enumerate(zip(plain, asking, strict=False))
        same = next((place for place, (one, other) in pairs if one != other), min(len(plain), len(asking)))
        return Rendered(plain, asking, asking[same:])

    def _adapted(self, messages: Sequence[Message]) -> Sequence[Message]:
        """The messages in the roles and types that the template knows."""
        caps = read_caps(self.template)
        if CHANNEL not in self.template:
            messages = [_of_the_system(message) for message in messages]
        if caps.only_text or caps.only_parts:
            messages = with_contents(messages, as_parts=caps.only_parts)
        if not caps.supports_system_role:
            messages = _merged(messages)
        return with_called_objects(messages) if caps.supports_object_arguments else messages

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


def _merged(messages: Sequence[Message]) -> Sequence[Message]:
    """A first message of the system goes to the front of the next one's text; without a next one it is left out."""
    if not messages or messages[0]["role"] != "system":
        return messages
    first, *others = messages
    if not others:
        remark("Removing system prompt due to template not supporting system role")
        return others
    if not (isinstance(one := first["content"], str) and isinstance(other := others[0]["content"], str)):
        raise ThrownError(not_of_type("string", []))
    content = f"{one}\n{other}"
    return [{**others[0], "content": content}, *others[1:]]


def _of_the_system(message: Message) -> Message:
    """A message of the system where it is a developer's."""
    return {**message, "role": "system"} if message["role"] == "developer" else message
