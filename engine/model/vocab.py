"""What byte-level BPE and SPM vocabularies have in common: texts, kinds, special tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .gguf import ModelFile, ModelFileError

__all__ = ["TokenKind", "Vocab", "read_vocab", "split_special"]

EOG_NAMES = frozenset(
    b"<|eot_id|> <|im_end|> <|end|> <|return|> <|call|> <|flush|> <|calls|> <end_of_turn> <|endoftext|> <|eom_id|>"
    b" <EOT> _<EOT> [EOT] [EOS] <|end_of_text|> <end_of_utterance>".split()
)
FIM_ENDS = frozenset(
    b"<|fim_repo|> <|repo_name|> <fim-repo> <REPO> <reponame> <|file_sep|> <|fim_pad|> <fim-pad> <fim_pad>"
    b" <PAD>".split()
)
END_KEYS = ("eos", "eot", "eom")


class TokenKind:
    """Numbers of tokenizer.ggml.token_type."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


@dataclass(frozen=True, eq=False)
class Vocab:
    """``texts``: spelling of each token as in the file; ``kinds`` and ``scores``: [V]."""

    texts: Sequence[bytes]
    kinds: Sequence[int]
    scores: Sequence[float]
    bos: int | None
    eos: int | None
    unknown: int | None
    ends: frozenset[int]
    add_bos: bool | None
    add_eos: bool
    chat_template: str | None

    @cached_property
    def ids(self) -> dict[bytes, int]:
        """Token of each spelling."""
        return {text: token for token, text in enumerate(self.texts)}

    @cached_property
    def eog(self) -> frozenset[int]:
        """All end-of-generation tokens: those the file names, and those known by their spelling."""
        marked = (TokenKind.CONTROL, TokenKind.USER_DEFINED)
        known = {
            t for name in EOG_NAMES | FIM_ENDS if (t := self.ids.get(name)) is not None and self.kinds[t] in marked
        }
        return self.ends | known

    @cached_property
    def special(self) -> list[tuple[str, int, bool]]:
        """Spelling, token and whether it is found in any text, longest first."""
        found = [
            (self.texts[token].decode("utf-8", "replace"), token, kind == TokenKind.USER_DEFINED)
            for token, kind in enumerate(self.kinds)
            if kind in (TokenKind.CONTROL, TokenKind.USER_DEFINED, TokenKind.UNKNOWN)
        ]
        return sorted(((text, token, always) for text, token, always in found if text), key=lambda one: -len(one[0]))

    @cached_property
    def any_special(self) -> re.Pattern[str]:
        """Matches where some special token stands."""
        return re.compile("|".join(re.escape(text) for text, _, _ in self.special) or r"(?!)")


def read_vocab(file: ModelFile) -> Vocab:
    """Read the common part of a vocabulary. Raises `ModelFileError`."""
    texts = file.strings("tokenizer.ggml.tokens")
    if len(texts) != file.hparams.n_vocab:
        wanted = file.hparams.n_vocab
        raise ModelFileError(f"{file.path}: the vocabulary has {len(texts)} tokens, the network {wanted}")
    kinds = file.numbers("tokenizer.ggml.token_type")
    scores = file.numbers("tokenizer.ggml.scores")

    def token(name: str) -> int | None:
        number = file.metadata.get(f"tokenizer.ggml.{name}_token_id")
        return number if isinstance(number, int) and 0 <= number < len(texts) else None

    def flag(name: str) -> bool | None:
        value = file.metadata.get(f"tokenizer.ggml.{name}")
        return value if isinstance(value, bool) else None

    template = file.metadata.get("tokenizer.chat_template")
    return Vocab(
        texts=texts,
        kinds=[TokenKind.NORMAL] * len(texts) if kinds is None else [int(kind) for kind in np.asarray(kinds).tolist()],
        scores=[0.0] * len(texts) if scores is None else [float(score) for score in np.asarray(scores).tolist()],
        bos=token("bos"),
        eos=token("eos"),
        unknown=token("unknown"),
        ends=frozenset(end for name in END_KEYS if (end := token(name)) is not None),
        add_bos=flag("add_bos_token"),
        add_eos=flag("add_eos_token") is True,
        chat_template=template if isinstance(template, str) else None,
    )


def split_special(vocab: Vocab, text: str, *, parse_special: bool) -> Iterator[str | int]:
    """Cut a text at special tokens: pieces of text and token ids in turn. The longest spelling goes first."""
    if not vocab.any_special.search(text):
        if text:
            yield text
        return
    parts: list[str | int] = [text]
    for spelling, token, always in vocab.special:
        if (parse_special or always) and spelling in text:
            parts = [piece for part in parts for piece in _cut(part, spelling, token)]
    yield from parts


def _cut(part: str | int, spelling: str, token: int) -> Iterator[str | int]:
    if isinstance(part, int):
        yield part
        return
    for number, piece in enumerate(part.split(spelling)):
        if number:
            yield token
        if piece:
            yield piece
