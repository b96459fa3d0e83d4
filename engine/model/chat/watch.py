"""Values of JSON that note what a chat template does with them; `caps` reads the notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, SupportsIndex

__all__ = ["WatchedDict", "WatchedList", "WatchedText", "note_text_test", "read_deep", "watched"]


class WatchedText(str):
    """A text. ``walked``: gone through like a list; ``tested``: asked whether it is a text; ``used``: looked at."""

    walked = tested = used = False

    def __iter__(self) -> Iterator[str]:
        """Fails, but only at the first character: a template may ask whether a text ``is iterable``."""
        self.walked = True
        yield from self._refused()

    def _refused(self) -> Iterator[str]:
        raise TypeError("a text is no list")

    def __getitem__(self, place: SupportsIndex | slice[Any, Any, Any]) -> str:
        self.walked = self.walked or not isinstance(place, slice)
        return super().__getitem__(place)

    def __getattribute__(self, name: str) -> Any:
        """A method of texts, such as ``lower``: whoever asks for one looks at the text."""
        if hasattr(str, name) and not name.startswith("_"):
            self.used = True
        return super().__getattribute__(name)

    def __str__(self) -> str:
        self.used = True
        return super().__str__()

    def __len__(self) -> int:
        self.used = True
        return super().__len__()

    def __add__(self, other: str) -> str:
        self.used = True
        return super().__add__(other)

    def __radd__(self, other: str) -> str:
        self.used = True
        return other + super().__str__()

    def __eq__(self, other: object) -> bool:
        self.used = True
        return super().__eq__(other)

    def __hash__(self) -> int:
        return super().__hash__()


class WatchedList(list[Any]):
    """A list. ``walked``: gone through, or an item was asked for."""

    walked = False

    def __iter__(self) -> Iterator[Any]:
        self.walked = True
        return super().__iter__()

    def __getitem__(self, place: Any) -> Any:
        self.walked = self.walked or not isinstance(place, slice)
        return super().__getitem__(place)


class WatchedDict(dict[str, Any]):
    """An object. ``asked``: the names of members that were taken from it."""

    def __init__(self, members: Iterable[tuple[str, Any]]) -> None:
        super().__init__(members)
        self.asked: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.asked.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        """The member, asked for, or the default."""
        self.asked.add(name)
        return super().get(name, default)

    def items(self) -> Any:
        """The members, all of them asked for."""
        self.asked |= self.keys()
        return super().items()


def watched(value: object) -> Any:
    """A copy of a value, watched together with everything in it."""
    if isinstance(value, dict):
        return WatchedDict((name, watched(item)) for name, item in value.items())
    if isinstance(value, list):
        return WatchedList(watched(item) for item in value)
    return WatchedText(value) if isinstance(value, str) else value


def read_deep(value: object) -> object:
    """The value, not watched any more. Notes that it was read with everything in it."""
    if isinstance(value, WatchedDict):
        value.asked |= value.keys()
        return {name: read_deep(item) for name, item in dict.items(value)}
    if isinstance(value, WatchedList):
        return [read_deep(item) for item in list.__iter__(value)]
    return value


def note_text_test(value: object) -> None:
    """Note that somebody asks whether a value is a text."""
    if isinstance(value, WatchedText):
        value.tested = True
