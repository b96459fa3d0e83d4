"""The tokens of one iteration, and the pieces they are decoded in (spec §6.3)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from slotview.engine.model.interface import SequenceRun

from ..slot import Slot

__all__ = ["Batch", "Part", "Piece"]

Part = tuple[Slot, int, int, bool, bool]
"""Tokens of one slot: the slot, their first position, how many, whether the logits after them are wanted, whether they
are of the prompt. A plain tuple, as one is made for each busy slot in each step."""


class Piece(Struct, frozen=True):
    """What one decode call computes.

    ``n_tokens``: all tokens, ``n_prompt_tokens`` those of prompts. ``n_decode_slots``: slots that feed a sampled token,
    ``n_busy`` all slots that are busy, in the piece or not.
    """

    n_tokens: int
    n_prompt_tokens: int
    n_busy: int
    n_decode_slots: int
    parts: Sequence[Part] = ()
    runs: Sequence[SequenceRun] = ()

    @property
    def n_prompt_slots(self) -> int:
        """Slots of whose prompts it has tokens."""
        return sum(is_prompt for *_, is_prompt in self.parts)


class Batch:
    """Parts in order: sampled tokens first, then prompt parts, each by slot id."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.n_tokens = 0

    def add(self, slot: Slot, first: int, n: int, wants_logits: bool, is_prompt: bool) -> None:
        """Add ``n`` tokens of a slot, from position ``first`` on."""
        self.parts.append((slot, first, n, wants_logits, is_prompt))
        self.n_tokens += n

    def piece(self, offset: int, n: int) -> Sequence[Part]:
        """The parts of tokens ``offset`` … ``offset + n``−1, cut where a slot's part reaches over the edge."""
        if n == self.n_tokens:
            return self.parts
        cut, at = list[Part](), 0
        for slot, first, count, wants, is_prompt in self.parts:
            start, end = max(at, offset), min(at + count, offset + n)
            if start < end:
                last = end == at + count
                cut.append((slot, first + start - at, end - start, wants and last, is_prompt))
            at += count
        return cut
