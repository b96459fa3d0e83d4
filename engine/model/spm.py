"""SentencePiece-style vocabularies (tokenizer.ggml.model "llama"): neighbours are joined, best score first."""

from __future__ import annotations

import heapq
import re
from collections.abc import Sequence

import numpy as np

from .interface import TokenIds
from .vocab import TokenKind, Vocab, split_special

__all__ = ["SpmTokenizer"]

SPACE = "\u2581"
BYTE = re.compile(rb"<0x([0-9A-F]{2})>")


class SpmTokenizer:
    """Tokenizer that merges by score; characters without a token fall back to byte tokens."""

    def __init__(self, vocab: Vocab, *, add_space_prefix: bool = True) -> None:
        self._vocab = vocab
        self._add_space_prefix = add_space_prefix
        self._ids = {text.decode("utf-8", "replace"): token for text, token in vocab.ids.items()}

    @property
    def n_vocab(self) -> int:
        """Number of tokens."""
        return len(self._vocab.texts)

    @property
    def bos(self) -> int | None:
        """Beginning-of-text token, 1 where the file names none."""
        return 1 if self._vocab.bos is None else self._vocab.bos

    @property
    def eos(self) -> int | None:
        """End-of-text token, 2 where the file names none."""
        return 2 if self._vocab.eos is None else self._vocab.eos

    @property
    def eog(self) -> frozenset[int]:
        """All end-of-generation tokens."""
        return self._vocab.eog | ({self.eos} if self.eos is not None else frozenset())

    @property
    def add_bos(self) -> bool:
        """Whether a text begins with ``bos``; yes where the file does not say."""
        return self._vocab.add_bos is not False

    @property
    def chat_template(self) -> str | None:
        """Jinja source from the file."""
        return self._vocab.chat_template

    def encode(self, text: str, *, add_special: bool = True, parse_special: bool = True) -> TokenIds:
        """Tokenize. A space goes before the first word and before one that follows a special token."""
        tokens: list[int] = []
        if add_special and self.add_bos and self.bos is not None:
            tokens.append(self.bos)
        after_special = True
        for part in split_special(self._vocab, text, parse_special=parse_special):
            if isinstance(part, int):
                tokens.append(part)
                after_special = True
                continue
            prefix = " " if self._add_space_prefix and after_special else ""
            tokens += self._merge((prefix + part).replace(" ", SPACE))
            after_special = False
        if add_special and self._vocab.add_eos and self.eos is not None:
            tokens.append(self.eos)
        return np.array(tokens, np.int32)

    def _merge(self, text: str) -> list[int]:
        """Join the neighbours with the best score until none are left; equal scores from the left."""
        symbols: list[str | None] = list(text)
        following = [*range(1, len(symbols)), -1]
        before = list(range(-1, len(symbols) - 1))
        heap: list[tuple[float, int, int, str]] = []

        def offer(left: int, right: int) -> None:
            if left < 0 or right < 0:
                return
            joined = (symbols[left] or "") + (symbols[right] or "")
            token = self._ids.get(joined)
            if token is not None:
                heapq.heappush(heap, (-self._vocab.scores[token], left, right, joined))

        for place in range(len(symbols) - 1):
            offer(place, place + 1)
        while heap:
            _, left, right, joined = heapq.heappop(heap)
            if (
                symbols[left] is None
                or symbols[right] is None
                or (symbols[left] or "") + (symbols[right] or "") != joined
            ):
                continue
            symbols[left], symbols[right] = joined, None
            following[left] = following[right]
            if following[right] >= 0:
                before[following[right]] = left
            offer(before[left], left)
            offer(left, following[left])
        return [token for symbol in symbols if symbol is not None for token in self._tokens_of(symbol)]

    def _tokens_of(self, symbol: str) -> list[int]:
        """The symbol's token, else those of its bytes, else the unknown token."""
        token = self._ids.get(symbol)
        if token is not None:
            return [token]
        found = [self._ids.get(f"<0x{byte:02X}>", self._vocab.unknown) for byte in symbol.encode("utf-8", "replace")]
        return [byte for byte in found if byte is not None]

    def piece(self, token: int, *, special: bool = False) -> bytes:
        """Bytes of one token; b"" for control tokens unless ``special``."""
        text = self._vocab.texts[token]
        kind = self._vocab.kinds[token]
        if kind in (TokenKind.CONTROL, TokenKind.UNKNOWN):
            return text if special else b""
        if kind == TokenKind.BYTE and (found := BYTE.fullmatch(text)):
            return bytes((int(found[1], 16),))
        return text.replace(SPACE.encode(), b" ")

    def decode(self, tokens: Sequence[int], *, special: bool = False) -> str:
        """Text of tokens."""
        return b"".join(self.piece(token, special=special) for token in tokens).decode("utf-8", "replace")
