"""SentencePiece vocabularies as llama.cpp reads them (tokenizer.ggml.model "llama")."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush

from ..gguf.file import ModelFileError
from .file_tokenizer import FileTokenizer
from .vocab import Vocabulary

__all__ = ["SpmTokenizer"]

SPACE = "▁"
WORD_END = re.compile(f"(?<=[^{SPACE}])(?={SPACE})")
INNER_SPACE = re.compile(f"[^{SPACE}]{SPACE}")
MAX_CACHED_LENGTH = 32
MAX_CACHED_WORDS = 20_000


class SpmTokenizer(FileTokenizer):
    """Merges the neighbours whose union has the highest score, the leftmost first; unknown letters become bytes.

    Words are merged apart and remembered, unless the vocabulary has tokens that reach from one word into the next.
    """

    def __init__(self, vocabulary: Vocabulary, chat_template: str | None, scores: Sequence[float]) -> None:
        super().__init__(vocabulary, chat_template)
        if len(scores) < len(vocabulary.texts):
            raise ModelFileError(f"tokenizer.ggml.scores has {len(scores)} entries for {len(vocabulary.texts)} tokens")
        self._scores = scores
        self._ids = {text: token for token, text in enumerate(vocabulary.texts)}
        self._bytes = [self._byte_tokens(byte) for byte in range(256)]
        self._by_word = not any(INNER_SPACE.search(text) for text in vocabulary.texts)
        self._known_words: dict[str, list[int]] = {}

    def _byte_tokens(self, byte: int) -> list[int]:
        token = self._ids.get(f"<0x{byte:02X}>", self._ids.get(chr(byte)) if byte < 128 else None)
        return [] if token is None else [token]

    def _encode_parts(self, parts: Iterator[str | int], tokens: array[int]) -> None:
        prefix = " " if self.vocabulary.add_space_prefix else ""
        after_special = True
        for part in parts:
            if isinstance(part, int):
                tokens.append(part)
                after_special = True
            else:
                text = prefix + part if after_special else part
                self._encode_text(text.replace(" ", SPACE), tokens)
                after_special = False

    def _encode_text(self, text: str, tokens: array[int]) -> None:
        if not self._by_word:
            tokens.extend(self._merge(text))
            return
        for word in WORD_END.split(text):
            tokens.extend(self._encode_word(word))

    def _encode_word(self, word: str) -> list[int]:
        """Tokens of one word, from memory where it is short and was met before."""
        known = self._known_words.get(word)
        if known is not None:
            return known
        tokens = self._merge(word)
        if len(word) <= MAX_CACHED_LENGTH:
            if len(self._known_words) >= MAX_CACHED_WORDS:
                self._known_words = {}
            self._known_words[word] = tokens
        return tokens

    def _merge(self, text: str) -> list[int]:
        """Tokens of a text; what is no token when all is merged is spelled by the tokens of its bytes."""
        ids = self._ids
        tokens: list[int] = []
        for symbol in merged_symbols(text, ids, self._scores):
            token = ids.get(symbol)
            if token is not None:
                tokens.append(token)
            else:
                tokens.extend(token for byte in symbol.encode() for token in self._bytes[byte])
        return tokens

    def _spell(self, token: int) -> bytes:
        return self.vocabulary.texts[token].replace(SPACE, " ").encode()


def merged_symbols(text: str, ids: dict[str, int], scores: Sequence[float]) -> list[str]:
    """Start from single letters, merge the best pair until no union of neighbours is a token."""
    n = len(text)
    end = list(range(1, n + 1))
    before = list(range(-1, n - 1))
    queue: list[tuple[float, int, int]] = []

    def candidate(left: int, stop: int) -> tuple[float, int, int] | None:
        token = ids.get(text[left:stop])
        return None if token is None else (-scores[token], left, stop)

    queue = [found for left in range(n - 1) if (found := candidate(left, left + 2))]
    heapify(queue)
    while queue:
        _, left, stop = heappop(queue)
        middle = end[left]
        if middle >= stop or middle == left or end[middle] != stop:
            continue
        end[left], end[middle] = stop, middle
        if stop < n:
            before[stop] = left
            if found := candidate(left, end[stop]):
                heappush(queue, found)
        if before[left] >= 0 and (found := candidate(before[left], stop)):
            heappush(queue, found)
    return _symbols(text, end)


def _symbols(text: str, end: list[int]) -> list[str]:
    symbols, start = [], 0
    while start < len(text):
        symbols.append(text[start : end[start]])
        start = end[start]
    return symbols
