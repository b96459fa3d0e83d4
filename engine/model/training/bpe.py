"""A byte-level BPE tokenizer: training it on ASCII text, and encoding with it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from ..vocab.byte_letters import BYTE_OF, LETTER_OF

__all__ = ["SPECIAL", "Bpe", "train_bpe"]

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
# The pieces of GPT-2, written for ASCII; the generator writes nothing else.
_PIECES = re.compile(r"'(?:s|t|re|ve|m|ll|d)| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+")
_SPECIAL_SPLIT = re.compile("(" + "|".join(map(re.escape, SPECIAL)) + ")")


def _spell(piece: str) -> tuple[str, ...]:
    return tuple(LETTER_OF[byte] for byte in piece.encode())


def _merge(symbols: Sequence[str], left: str, right: str) -> tuple[str, ...]:
    merged: list[str] = []
    for symbol in symbols:
        if merged and merged[-1] == left and symbol == right:
            merged[-1] = left + right
        else:
            merged.append(symbol)
    return tuple(merged)


def train_bpe(texts: Iterable[str], size: int) -> Bpe:
    """Merge the most frequent neighbours until the vocabulary has ``size`` entries; ties go to the smaller pair."""
    counts = Counter(piece for text in texts for part in _SPECIAL_SPLIT.split(text) for piece in _PIECES.findall(part))
    words = [(_spell(piece), count) for piece, count in counts.items() if piece not in SPECIAL]
    merges: list[tuple[str, str]] = []
    while len(SPECIAL) + 256 + len(merges) < size:
        pairs: Counter[tuple[str, str]] = Counter()
        for symbols, count in words:
            for pair in pairwise(symbols):
                pairs[pair] += count
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        words = [(_merge(symbols, *best) if best[0] in symbols else symbols, count) for symbols, count in words]
    return Bpe(tuple(merges))


class Bpe:
    """Token ids: the special tokens first, then the 256 bytes, then one token per merge."""

    def __init__(self, merges: tuple[tuple[str, str], ...]) -> None:
        self.merges = merges
        self._cache: dict[str, list[int]] = {}

    @cached_property
    def tokens(self) -> list[str]:
        """All tokens by id."""
        return [*SPECIAL, *LETTER_OF, *(left + right for left, right in self.merges)]

    @cached_property
    def ids(self) -> dict[str, int]:
        """The id of every token."""
        return {token: number for number, token in enumerate(self.tokens)}

    @cached_property
    def _ranks(self) -> dict[tuple[str, str], int]:
        return {pair: rank for rank, pair in enumerate(self.merges)}

    def _encode_piece(self, piece: str) -> list[int]:
        if piece not in self._cache:
            symbols = _spell(piece)
            while known := [pair for pair in pairwise(symbols) if pair in self._ranks]:
                symbols = _merge(symbols, *min(known, key=self._ranks.__getitem__))
            self._cache[piece] = [self.ids[symbol] for symbol in symbols]
        return self._cache[piece]

    def encode(self, text: str) -> list[int]:
        """Ids of a text; special tokens written in it are recognised."""
        ids: list[int] = []
        for part in _SPECIAL_SPLIT.split(text):
            if part in SPECIAL:
                ids.append(self.ids[part])
            else:
                for piece in _PIECES.findall(part):
                    ids += self._encode_piece(piece)
        return ids

    def decode(self, ids: Iterable[int]) -> str:
        """The text of some ids; broken UTF-8 becomes the replacement character."""
        text = ""
        pending = bytearray()
        for number in ids:
            token = self.tokens[number]
            if token in SPECIAL:
                text += pending.decode(errors="replace") + token
                pending.clear()
            else:
                pending += bytes(BYTE_OF[letter] for letter in token)
        return text + pending.decode(errors="replace")

    def save(self, path: Path) -> None:
        """Write the merges as JSON."""
        path.write_text(json.dumps(self.merges, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Bpe:
        """Read what ``save`` wrote."""
        return cls(tuple((left, right) for left, right in json.loads(path.read_text(encoding="utf-8"))))
