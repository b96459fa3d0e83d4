"""Byte-level BPE vocabularies (tokenizer.ggml.model "gpt2"), merged by the tokenizers library."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from tokenizers import Regex, pre_tokenizers
from tokenizers import Tokenizer as Merger
from tokenizers.models import BPE

from .interface import TokenIds
from .pre_tokenizing import PLAIN_WORDS, split_rules
from .vocab import TokenKind, Vocab, split_special

__all__ = ["ByteBpeTokenizer"]


def _byte_letters() -> dict[str, int]:
    """The printable letter that stands for each byte in such vocabularies, and back."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = {chr(byte): byte for byte in printable}
    hidden = [byte for byte in range(256) if byte not in printable]
    return letters | {chr(256 + place): byte for place, byte in enumerate(hidden)}


LETTERS = _byte_letters()


class ByteBpeTokenizer:
    """Tokenizer over a vocabulary and its merges; built when first used."""

    def __init__(self, vocab: Vocab, merges: Sequence[bytes], pre: str) -> None:
        self._vocab = vocab
        self._merges = merges
        self._pre = pre

    @property
    def n_vocab(self) -> int:
        """Number of tokens."""
        return len(self._vocab.texts)

    @property
    def bos(self) -> int | None:
        """Beginning-of-text token."""
        return self._vocab.bos

    @property
    def eos(self) -> int | None:
        """End-of-text token."""
        return self._vocab.eos

    @property
    def eog(self) -> frozenset[int]:
        """All end-of-generation tokens."""
        return self._vocab.eog

    @property
    def add_bos(self) -> bool:
        """Whether a text begins with ``bos``: as the file says, else as its pre-tokenizer's family does."""
        return self._pre in PLAIN_WORDS if self._vocab.add_bos is None else self._vocab.add_bos

    @property
    def chat_template(self) -> str | None:
        """Jinja source from the file."""
        return self._vocab.chat_template

    @cached_property
    def _merger(self) -> Merger:
        vocab = {text.decode("utf-8", "replace"): token for token, text in enumerate(self._vocab.texts)}
        merges = [tuple(merge.decode("utf-8", "replace").split(" ", 1)) for merge in self._merges]
        known = [pair for pair in merges if len(pair) == 2 and pair[0] + pair[1] in vocab]
        model = BPE(vocab, known, ignore_merges=self._pre in PLAIN_WORDS)
        merger = Merger(model)
        splits = [pre_tokenizers.Split(Regex(rule), "isolated") for rule in split_rules(self._pre)]
        to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        merger.pre_tokenizer = pre_tokenizers.Sequence([*splits, to_bytes])
        return merger

    def encode(self, text: str, *, add_special: bool = True, parse_special: bool = True) -> TokenIds:
        """Tokenize."""
        tokens: list[int] = []
        if add_special and self.add_bos and self.bos is not None:
            tokens.append(self.bos)
        for part in split_special(self._vocab, text, parse_special=parse_special):
            if isinstance(part, int):
                tokens.append(part)
            else:
                tokens += self._merger.encode(part, add_special_tokens=False).ids
        if add_special and self._vocab.add_eos and self.eos is not None:
            tokens.append(self.eos)
        return np.array(tokens, np.int32)

    def piece(self, token: int, *, special: bool = False) -> bytes:
        """Bytes of one token; b"" for control tokens unless ``special``."""
        text = self._vocab.texts[token]
        kind = self._vocab.kinds[token]
        if kind in (TokenKind.CONTROL, TokenKind.UNKNOWN):
            return text if special else b""
        if kind != TokenKind.NORMAL:
            return text
        return b"".join(_bytes_of(letter) for letter in text.decode("utf-8", "replace"))

    def decode(self, tokens: Sequence[int], *, special: bool = False) -> str:
        """Text of tokens."""
        return b"".join(self.piece(token, special=special) for token in tokens).decode("utf-8", "replace")


def _bytes_of(letter: str) -> bytes:
    byte = LETTERS.get(letter)
    return letter.encode() if byte is None else bytes((byte,))
