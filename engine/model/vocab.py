"""The vocabulary of a model file: what each token spells, which are special, which end a generation.

Follows llama.cpp's reading of ``tokenizer.ggml.*``, whose choice of end-of-generation tokens goes by their spelling.
"""

from __future__ import annotations

from dataclasses import dataclass

from .end_tokens import END_ROLES, find_end_tokens
from .gguf import ModelFile, ModelFileError
from .pre_tokenizing import PreTokenizer, find_pretokenizer
from .token_kinds import HIDDEN, KINDS, SPECIAL, TokenKind

__all__ = ["SpecialToken", "Vocabulary", "read_vocabulary"]

PREFIX = "tokenizer.ggml."


@dataclass(frozen=True, slots=True)
class SpecialToken:
    """A spelling that becomes one token. ``always``: also where special tokens are not parsed."""

    token: int
    text: str
    always: bool
    strips_right: bool


@dataclass(frozen=True, slots=True)
class Vocabulary:
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
    named = {role: _token(file, role, len(texts)) for role in END_ROLES}
    eog = find_end_tokens(named, by_text, kinds)
    spm = model == "llama"
    bos, eos = _named_tokens(file, len(texts), spm)
    add_bos = bool(file.metadata.get(f"{PREFIX}add_bos_token", spm or pre.add_bos))
    add_eos = bool(file.metadata.get(f"{PREFIX}add_eos_token", False))
    return Vocabulary(
        model=str(model),
        pre=pre,
        texts=texts,
        kinds=kinds,
        bos=bos,
        eos=eos,
        eog=eog if eos is None else eog | {eos},
        add_bos=add_bos and bos is not None,
        add_eos=add_eos and eos is not None,
        add_space_prefix=bool(file.metadata.get(f"{PREFIX}add_space_prefix", spm)),
        special=_special_tokens(texts, kinds, file.name),
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
    return default, (f'unknown pre-tokenizer "{name}": using "default", text may be split into other tokens',)


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


def _named_tokens(file: ModelFile, n_vocab: int, spm: bool) -> tuple[int | None, int | None]:
    bos = _token(file, "bos", n_vocab, 1 if spm else 11)
    eos = _token(file, "eos", n_vocab, 2 if spm else 11)
    return bos, eos


def _token(file: ModelFile, name: str, n_vocab: int, default: int | None = None) -> int | None:
    """A token that the metadata names, else the default; None where that lies outside the vocabulary."""
    value = file.metadata.get(f"{PREFIX}{name}_token_id")
    if isinstance(value, int) and 0 <= value < n_vocab:
        return value
    return default if default is not None and default < n_vocab else None


def _special_tokens(texts: list[str], kinds: list[TokenKind], name: str) -> tuple[SpecialToken, ...]:
    phi3 = any(part in name.lower() for part in ("phi-3", "phi3"))
    kept = {"<unk>", "<s>", "<|endoftext|>"}
    special = [
        SpecialToken(token, texts[token], not kind & HIDDEN, phi3 and texts[token] not in kept)
        for token, kind in enumerate(kinds)
        if kind & SPECIAL
    ]
    return tuple(sorted(special, key=lambda item: -len(item.text.encode())))
