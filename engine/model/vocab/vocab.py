"""The vocabulary of a model file: what each token spells, which are special, which end a generation.

Follows llama.cpp's reading of ``tokenizer.ggml.*``, whose choice of end-of-generation tokens goes by their spelling.
"""

from __future__ import annotations

from msgspec import Struct

from slotview.engine.text.plain import plain

from ..gguf.file import ModelFile, ModelFileError
from .clean_blanks import cleans_blanks
from .end_tokens import ROLES, find_end_tokens
from .pre_tokenizing import PreTokenizer, find_pretokenizer
from .token_kinds import HIDDEN, KINDS, SPECIAL, TokenKind

__all__ = ["SpecialToken", "Vocabulary", "read_vocabulary"]

PREFIX = "tokenizer.ggml."


class SpecialToken(Struct, frozen=True):
    """A spelling that becomes one token. ``always``: also where special tokens are not parsed."""

    token: int
    text: str
    always: bool
    strips_right: bool


class Vocabulary(Struct, frozen=True):
    """Everything a tokenizer needs. ``special`` begins with the longest spelling; ``warnings`` are for the user."""

    model: str
    pre: PreTokenizer
    texts: list[str]
    kinds: list[TokenKind]
    bos: int | None
    eos: int | None
    eog: frozenset[int]
    add_bos: bool
    add_eos: bool
    add_space_prefix: bool
    cleans_blanks: bool
    special: tuple[SpecialToken, ...]
    warnings: tuple[str, ...]


def read_vocabulary(file: ModelFile) -> Vocabulary:
    """Raises `ModelFileError` where the file has no usable vocabulary."""
    model = file.metadata.get(f"{PREFIX}model")
    if model not in ("gpt2", "llama"):
        raise ModelFileError(_unsupported(model))
    pre, warnings = _pretokenizer(file, model)
    texts = _texts(file)
    kinds = _kinds(file, len(texts))
    by_text = {text: token for token, text in enumerate(texts)}
    spm = model == "llama"
    bos = _token(file, ("bos",), len(texts), 1 if spm else 11 if pre.has_bos else None)
    eos = _token(file, ("eos",), len(texts), 2 if spm else 11)
    named = {role: _token(file, keys, len(texts)) for role, keys in ROLES.items()} | {"eos": eos}
    eog = find_end_tokens(named, by_text, kinds)
    add_bos = bool(file.metadata.get(f"{PREFIX}add_bos_token", spm or pre.add_bos))
    add_eos = bool(file.metadata.get(f"{PREFIX}add_eos_token", False))
    return Vocabulary(
        model=str(model),
        pre=pre,
        texts=texts,
        kinds=kinds,
        bos=bos,
        eos=eos,
        eog=eog,
        add_bos=add_bos and bos is not None,
        add_eos=add_eos and eos is not None,
        add_space_prefix=bool(file.metadata.get(f"{PREFIX}add_space_prefix", spm)),
        cleans_blanks=cleans_blanks(model, str(file.metadata.get(f"{PREFIX}pre", "default"))),
        special=_special_tokens(texts, kinds, str(file.metadata.get("general.name", ""))),
        warnings=warnings,
    )


def _unsupported(model: object) -> str:
    if model is None:
        return f"{PREFIX}model is missing"
    return f'the tokenizer "{model}" is not supported, only "gpt2" and "llama"'


def _pretokenizer(file: ModelFile, model: object) -> tuple[PreTokenizer, tuple[str, ...]]:
    name = str(file.metadata.get(f"{PREFIX}pre", "default"))
    found = find_pretokenizer(name)
    if found is not None:
        return found, ()
    default = find_pretokenizer("default")
    assert default is not None
    if model != "gpt2":
        return default, ()
    return default, (f'unknown pre-tokenizer "{plain(name)}": using "default", text may be split into other tokens',)


def _texts(file: ModelFile) -> list[str]:
    spellings = file.strings(f"{PREFIX}tokens")
    if not spellings:
        raise ModelFileError(f"{PREFIX}tokens is missing or empty")
    texts = [spelling.decode(errors="replace") for spelling in spellings]
    if "" in texts:
        texts = [text or f"[EMPTY_{token}]" for token, text in enumerate(texts)]
    return texts


def _kinds(file: ModelFile, n_vocab: int) -> list[TokenKind]:
    numbers = file.numbers(f"{PREFIX}token_type")
    if numbers is None:
        return [TokenKind.NORMAL] * n_vocab
    if len(numbers) < n_vocab:
        raise ModelFileError(f"{PREFIX}token_type has {len(numbers)} entries for {n_vocab} tokens")
    get = KINDS.get
    return [get(number, TokenKind.NONE) for number in numbers[:n_vocab].tolist()]


def _token(file: ModelFile, keys: tuple[str, ...], n_vocab: int, default: int | None = None) -> int | None:
    """The token that the last usable key names, else the default; None where that lies outside the vocabulary."""
    found = default if default is not None and default < n_vocab else None
    for key in keys:
        value = file.metadata.get(f"{PREFIX}{key}_token_id")
        if isinstance(value, int) and 0 <= value < n_vocab:
            found = value
    return found


def _special_tokens(texts: list[str], kinds: list[TokenKind], name: str) -> tuple[SpecialToken, ...]:
    phi3 = any(part in name.lower() for part in ("phi-3", "phi3"))
    kept = {"<unk>", "<s>", "<|endoftext|>"}
    special = [
        SpecialToken(token, texts[token], not kind & HIDDEN, phi3 and texts[token] not in kept)
        for token, kind in enumerate(kinds)
        if kind & SPECIAL
    ]
    return tuple(sorted(special, key=lambda item: -len(item.text.encode())))
