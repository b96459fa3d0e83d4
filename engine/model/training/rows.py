"""Rows of token ids for one training step, made from the step's number alone."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from .bpe import Bpe
from .documents import document, story_book

__all__ = ["book_row", "long_row", "pack", "short_row", "step_rows"]


def pack(bpe: Bpe, write: Callable[[], str], length: int) -> list[int]:
    """``length`` ids of whole texts one after the other; the row starts with a text, only the last one is cut."""
    ids: list[int] = []
    while len(ids) < length:
        ids += bpe.encode(write())
    return ids[:length]


def short_row(bpe: Bpe, rng: Random, length: int) -> list[int]:
    """A row of texts of all kinds."""
    return pack(bpe, lambda: document(rng), length)


def _long_text(rng: Random) -> str:
    if rng.random() < 0.75:
        return document(rng)
    return story_book(rng, rng.choice((4, 8, 16, 30, 44)))


def long_row(bpe: Bpe, rng: Random, length: int) -> list[int]:
    """A row with story books in it, whose questions reach back over thousands of tokens."""
    return pack(bpe, lambda: _long_text(rng), length)


def book_row(bpe: Bpe, rng: Random, length: int) -> list[int]:
    """A row that is one book from the first token on, so that early and late positions hold the same kind of text."""
    return pack(bpe, lambda: story_book(rng, 44), length)


def step_rows(bpe: Bpe, seed: int, step: int, count: int, length: int) -> list[list[int]]:
    """``count`` rows of ``length`` + 1 ids: the inputs and, one further, the targets."""
    rng = Random(f"{seed} {step} {length}")
    make = short_row if length <= 512 else long_row
    return [make(bpe, rng, length + 1) for _ in range(count)]
