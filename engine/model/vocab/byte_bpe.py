"""Byte-level BPE vocabularies (tokenizer.ggml.model "gpt2")."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence

from tokenizers import Regex, Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel, Split
from tokenizers.pre_tokenizers import Sequence as Steps

from ..gguf.file import ModelFileError
from .byte_letters import BYTE_OF
from .file_tokenizer import FileTokenizer
from .pre_tokenizing import PreTokenizer
from .vocab import Vocabulary

__all__ = ["ByteBpeTokenizer"]

LONG = 1 << 18
"""Letters of a text from which on it is encoded in several parts, since encoding takes some 100 bytes for each."""
SEAM = re.compile("(?<=[a-z]) (?=[a-z])")
"""Where a word ends whatever follows, and so a text can be parted: before a single blank between two words."""


class ByteBpeTokenizer(FileTokenizer):
    """Merges neighbours in the order the file lists the merges. ``merges``: pairs as the file spells them.

    What is no token when all is merged is spelled with the tokens of its single ASCII letters, or dropped.
    """

    def __init__(self, vocabulary: Vocabulary, chat_template: str | None, merges: Sequence[bytes]) -> None:
        super().__init__(vocabulary, chat_template)
        if not merges:
            raise ModelFileError("tokenizer.ggml.merges is missing or empty")
        ids = {text: token for token, text in enumerate(vocabulary.texts)}
        pairs = _pairs(merges)
        tokenless = _tokenless(ids, pairs)
        beyond = {text: self.n_vocab + n for n, text in enumerate(tokenless)}
        self._words = _word_tokenizer(ids | beyond, pairs, vocabulary.pre)
        self._has_seams = _parts_words(_steps(vocabulary.pre))
        self._spelled = [[ids[letter] for letter in text if letter.isascii() and letter in ids] for text in tokenless]

    def _encode_parts(self, parts: Iterator[str | int], tokens: array[int]) -> None:
        for part in parts:
            if isinstance(part, int):
                tokens.append(part)
                continue
            for text in _cut_at_seams(part) if self._has_seams else (part,):
                found = self._words.encode_batch_fast([text], add_special_tokens=False)  # other threads go on meanwhile
                tokens.extend(self._only_tokens(found[0].ids))

    def _only_tokens(self, found: list[int]) -> list[int]:
        """Replace what has a number beyond the vocabulary."""
        n = self.n_vocab
        if not self._spelled or max(found, default=0) < n:
            return found
        return [token for one in found for token in ([one] if one < n else self._spelled[one - n])]

    def _spell(self, token: int) -> bytes:
        text = self.vocabulary.texts[token]
        try:
            return bytes([BYTE_OF[letter] for letter in text])
        except KeyError:
            return b"".join(_spell_letter(letter, text) for letter in text)


def _cut_at_seams(text: str) -> Iterator[str]:
    """The parts of a text, each of about `LONG` letters where it has seams."""
    begin = 0
    while len(text) - begin > LONG and (seam := SEAM.search(text, begin + LONG)):
        yield text[begin : seam.start()]
        begin = seam.start()
    yield text[begin:]


def _parts_words(steps: Steps) -> bool:
    """Whether words end at every seam: there are vocabularies with tokens of several words."""
    return {begin for _, (begin, _) in steps.pre_tokenize_str("one or two")} == {0, 3, 6}


def _spell_letter(letter: str, text: str) -> bytes:
    """As llama.cpp spells letters that stand for no byte."""
    if letter in BYTE_OF:
        return bytes([BYTE_OF[letter]])
    return f"[UNK_BYTE_0x{letter.encode().hex()}{text}]".encode()


def _pairs(merges: Sequence[bytes]) -> list[tuple[str, str]]:
    """The merges, each once: where one is listed again, its first place counts."""
    found = (_pair(merge.decode(errors="replace")) for merge in merges)
    return list(dict.fromkeys(pair for pair in found if all(pair)))


def _pair(merge: str) -> tuple[str, str]:
    space = merge.find(" ", 1)
    return (merge[:space], merge[space + 1 :]) if space > 0 else (merge, "")


def _tokenless(ids: dict[str, int], pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Single letters and what merging takes and makes, as far as these are no tokens."""
    texts = [*BYTE_OF, *(text for first, second in pairs for text in (first, second, first + second))]
    return list(dict.fromkeys(text for text in texts if text not in ids))


def _word_tokenizer(ids: dict[str, int], pairs: list[tuple[str, str]], pre: PreTokenizer) -> Tokenizer:
    tokenizer = Tokenizer(BPE(ids, pairs, ignore_merges=pre.whole_words))
    tokenizer.pre_tokenizer = _steps(pre)
    return tokenizer


def _steps(pre: PreTokenizer) -> Steps:
    splits = [Split(Regex(pattern), behavior="isolated") for pattern in pre.patterns]
    return Steps([*splits, ByteLevel(add_prefix_space=False, use_regex=False)])
