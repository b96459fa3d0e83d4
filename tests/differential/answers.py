"""What a server sends, as data: JSON, text, or the events of a stream."""

from __future__ import annotations

import json

__all__ = ["Events", "event_of", "parsed"]


class Events(list[object]):
    """Events of a whole stream."""


def event_of(text: str) -> object:
    content = text.removeprefix("data: ")
    try:
        return json.loads(content)
    except ValueError:
        return content


def parsed(kind: str, text: str) -> object:
    if kind.startswith("text/event-stream"):
        return Events(event_of(block) for block in text.split("\n\n") if block)
    if "json" in kind:
        try:
            return json.loads(text)
        except ValueError:
            return f"not JSON: {text}"
    return text
