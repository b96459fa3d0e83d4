"""An answer of a chat as a client reads it: what is thought, and what is said (spec §7.10)."""

from __future__ import annotations

from msgspec import Struct

from slotview.engine.model.chat.thoughts import SPACE, ThoughtTags

__all__ = ["PLAIN_ANSWER", "AnswerReader", "Said"]

Json = dict[str, object]


class Said(Struct, frozen=True):
    """``reasoning_content`` and ``content`` of an answer so far."""

    thoughts: str = ""
    content: str = ""

    def __bool__(self) -> bool:
        return bool(self.thoughts or self.content)

    @property
    def message(self) -> Json:
        """The message of a finished answer."""
        thoughts = {"reasoning_content": self.thoughts} if self.thoughts else {}
        return {"role": "assistant", "content": self.content, **thoughts}

    def added_to(self, before: Said) -> list[Json]:
        """The deltas of a stream that lead here from what was said before."""
        deltas: tuple[tuple[str, str, str], ...] = (
            ("reasoning_content", before.thoughts, self.thoughts),
            ("content", before.content, self.content),
        )
        return [{name: new.removeprefix(old)} for name, old, new in deltas if new != old]


class AnswerReader(Struct, frozen=True):
    """Reads generated text. ``begun``: the part of the prompt that the answer begins with, such as an open tag.

    ``tags`` None = the template knows no thoughts. ``extracts``: whether thoughts are taken out of the content.
    """

    begun: str = ""
    tags: ThoughtTags | None = None
    extracts: bool = True

    def read(self, generated: str) -> Said:
        """What is said, as far as it is certain: the beginning of a tag at the end of the text is waited for."""
        text = self.begun + generated
        if self.tags is None:
            return Said(content=text)
        text = text.lstrip(SPACE)
        start, end = self.tags.bare
        if not (self.extracts and end and text):
            return Said(content=text)
        if not text.startswith(start):
            return Said() if start.startswith(text) else Said(content=text)
        return _split(_behind(text, self.tags.start), self.tags.end)


PLAIN_ANSWER = AnswerReader()


def _split(text: str, end: str) -> Said:
    """The thoughts that a text begins with, and what follows their end; blanks alone are no thoughts."""
    tag = end.strip(SPACE)
    thoughts, closed, _ = text.partition(tag)
    content = _behind(text[len(thoughts) :], end) if closed else ""
    if not closed:
        sizes = range(min(len(tag), len(text)), 0, -1)
        thoughts = text[: -next((size for size in sizes if text.endswith(tag[:size])), 0) or None]
    return Said(thoughts if thoughts.strip(SPACE) else "", content)


def _behind(text: str, tag: str) -> str:
    """What follows a tag that a text begins with, less the blanks that are the tag's own."""
    bare = tag.strip(SPACE)
    rest = text[len(bare) :]
    for blank in tag.lstrip(SPACE)[len(bare) :]:
        rest = rest.removeprefix(blank)
    return rest
