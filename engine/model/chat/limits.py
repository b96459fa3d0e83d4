"""Limits to the work of a template, which comes with a model file or in a command line and may be anybody's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from jinja2 import TemplateError
from jinja2.runtime import Context
from jinja2.sandbox import SandboxedEnvironment

__all__ = ["LimitedEnvironment", "LimitedRange", "limited_text"]

MOST_GROWTH = 1_000_000
"""Characters that a template may add to those of the messages, numbers that its ranges may count in one rendering, and
the size of a product."""
MOST_USES = 50
"""How often it may repeat the messages' own characters."""


def limited_text(parts: Iterable[str], length: int) -> str:
    """The parts of a rendering, joined; ``length``: characters of the messages. Raises `TemplateError` for too many."""
    return "".join(_counted(parts, MOST_GROWTH + MOST_USES * length))


def _counted(parts: Iterable[str], most: int) -> Iterator[str]:
    length = 0
    for part in parts:
        length += len(part)
        if length > most:
            raise TemplateError(f"it makes more than {most:,} characters of it")
        yield part


class LimitedRange:
    """``range`` for one rendering, with a limit to the numbers of all its ranges together."""

    def __init__(self) -> None:
        self._left = MOST_GROWTH

    def __call__(self, *bounds: int) -> range:
        """One range. Raises `TemplateError` beyond the limit."""
        numbers = range(*bounds)
        self._left -= len(numbers)
        if self._left < 0:
            raise TemplateError(f"its loops count more than {MOST_GROWTH:,} numbers")
        return numbers


class LimitedEnvironment(SandboxedEnvironment):
    """Jinja's sandbox, which also refuses products and powers that would take much memory."""

    intercepted_binops = frozenset(("*", "**"))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """A product or a power. Raises `TemplateError` where it would be too large."""
        size = abs(right) if isinstance(right, int) else abs(left) if isinstance(left, int) else 0
        grows = operator == "**" or any(isinstance(side, Sequence) for side in (left, right))
        if grows and size * max(_size(left), _size(right)) > MOST_GROWTH:
            raise TemplateError("it multiplies without measure")
        return super().call_binop(context, operator, left, right)


def _size(value: object) -> int:
    """Items of a text or a list, bits of a whole number."""
    return len(value) if isinstance(value, Sequence) else value.bit_length() if isinstance(value, int) else 1
