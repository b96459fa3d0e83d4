"""Byte-level BPE vocabularies (tokenizer.ggml.model "gpt2")."""

from __future__ import annotations

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
        self._spelled = [[ids[letter] for letter in text if letter.isascii() and letter in ids] for text in tokenless]

    def _encode_parts(self, parts: Iterator[str | int], tokens: list[int]) -> None:
        for part in parts:
            if isinstance(part, int):
                tokens.append(part)
            else:
                found = self._words.encode_batch_fast([part], add_special_tokens=False)  # other threads go on meanwhile
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
