"""Text to tokens and back with a model file's own vocabulary."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterator, Sequence

import numpy as np

from ..arrays import TokenIds
from .clean_blanks import clean_blanks
from .token_kinds import HIDDEN, TokenKind
from .vocab import SpecialToken, Vocabulary

__all__ = ["FileTokenizer", "split_special"]

WHITESPACE = " \t\n\v\f\r"


class FileTokenizer(ABC):
    """What both kinds of vocabulary share: special tokens around plain text, and the spelling of tokens."""

    def __init__(self, vocabulary: Vocabulary, chat_template: str | None) -> None:
        self.vocabulary = vocabulary
        self._chat_template = chat_template
        self._pieces: dict[int, bytes] = {}

    @property
    def n_vocab(self) -> int:
        """Number of tokens."""
        return len(self.vocabulary.texts)

    @property
    def bos(self) -> int | None:
        """Token put at the beginning of a text, where the model has one."""
        return self.vocabulary.bos

    @property
    def eos(self) -> int | None:
        """The main end-of-generation token."""
        return self.vocabulary.eos

    @property
    def eog(self) -> frozenset[int]:
        """All end-of-generation tokens."""
        return self.vocabulary.eog

    @property
    def add_bos(self) -> bool:
        """Whether the model wants ``bos`` before a text."""
        return self.vocabulary.add_bos

    @property
    def chat_template(self) -> str | None:
        """Jinja source from the model file."""
        return self._chat_template

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the user should know about this vocabulary, one line each."""
        return self.vocabulary.warnings

    def encode(self, text: str, *, add_special: bool = True, parse_special: bool = True) -> TokenIds:
        """Tokenize. ``parse_special``: spellings such as <|im_end|> become their token.

        User-defined tokens are always found. Half surrogates become U+FFFD.
        """
        tokens = array("i")
        vocabulary = self.vocabulary
        if add_special and vocabulary.add_bos and vocabulary.bos is not None:
            tokens.append(vocabulary.bos)
        self._encode_parts(split_special(_without_surrogates(text), vocabulary.special, parse_special), tokens)
        if add_special and vocabulary.add_eos and vocabulary.eos is not None:
            tokens.append(vocabulary.eos)
        return np.array(tokens, np.int32)

    @abstractmethod
    def _encode_parts(self, parts: Iterator[str | int], tokens: array[int]) -> None:
        """Append the tokens of text pieces and single special tokens."""

    @abstractmethod
    def _spell(self, token: int) -> bytes:
        """Bytes of a normal token."""

    def piece(self, token: int, *, special: bool = False) -> bytes:
        """Bytes of one token; b"" for special tokens unless ``special``. Raises `IndexError` outside the vocabulary."""
        if not special and self._kind(token) & HIDDEN:
            return b""
        piece = self._pieces.get(token)
        if piece is None:
            piece = self._pieces[token] = self._spell_any(token)
        return piece

    def _kind(self, token: int) -> TokenKind:
        if token < 0:
            raise IndexError(f"token {token} is not in the vocabulary")
        return self.vocabulary.kinds[token]

    def _spell_any(self, token: int) -> bytes:
        kind, text = self.vocabulary.kinds[token], self.vocabulary.texts[token]
        if kind & (HIDDEN | TokenKind.USER_DEFINED):
            return text.encode()
        if kind & TokenKind.NORMAL:
            return self._spell(token)
        return _byte_of(text) if kind & TokenKind.BYTE else b""

    def decode(self, tokens: Sequence[int], *, special: bool = False) -> str:
        """Text of tokens; invalid UTF-8 becomes U+FFFD."""
        return b"".join([self.piece(int(token), special=special) for token in tokens]).decode(errors="replace")

    def prompt_text(self, tokens: Sequence[int]) -> str:
        """Text of a whole prompt, without the blank that is put before one, and cleaned where the vocabulary asks."""
        pieces = [self.piece(int(token), special=True) for token in tokens]
        if pieces and self.vocabulary.add_space_prefix:
            pieces[0] = pieces[0].removeprefix(b" ")
        text = b"".join(pieces)
        return (clean_blanks(text) if self.vocabulary.cleans_blanks else text).decode(errors="replace")


def split_special(text: str, special: Sequence[SpecialToken], parse_special: bool) -> Iterator[str | int]:
    """Cut a text at its special tokens, longer spellings first. Yields no empty texts."""
    parts: list[str | int] = [text] if text else []
    for token in special:
        if (parse_special or token.always) and token.text in text:
            parts = [piece for part in parts for piece in _cut(part, token)]
    return iter(parts)


def _cut(part: str | int, token: SpecialToken) -> list[str | int]:
    """A piece of text cut at every place where the token is spelled."""
    if isinstance(part, int) or token.text not in part:
        return [part]
    pieces: list[str | int] = []
    start = 0
    while (place := part.find(token.text, start)) >= 0:
        pieces += [part[start:place], token.token] if place > start else [token.token]
        start = place + len(token.text)
        while token.strips_right and start < len(part) and part[start] in WHITESPACE:
            start += 1
    return [*pieces, part[start:]] if start < len(part) else pieces


def _byte_of(text: str) -> bytes:
    """The byte that a token such as <0x0A> stands for."""
    try:
        return bytes.fromhex(text[3:5])
    except ValueError:
        return text.encode()


def _without_surrogates(text: str) -> str:
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
