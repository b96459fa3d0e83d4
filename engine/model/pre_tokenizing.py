"""How each family of byte-level vocabularies cuts a text before merging (tokenizer.ggml.pre).

The rules of a family are applied one after the other, each to what the ones before it have left whole.
"""

from __future__ import annotations

__all__ = ["PLAIN_WORDS", "split_rules"]

CONTRACTIONS = r"'s|'t|'re|'ve|'m|'ll|'d"
GPT2 = rf"{CONTRACTIONS}| ?\p{{L}}+| ?\p{{N}}+| ?[^\s\p{{L}}\p{{N}}]+|\s+(?!\S)"
ANY_CASE = r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
LETTERS_AND_REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = rf"{ANY_CASE}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}|{LETTERS_AND_REST}"
QWEN2 = rf"{ANY_CASE}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}|{LETTERS_AND_REST}"
DIGITS = r"\p{N}"
PUNCTUATION = r"[\p{P}\$\+<=>\^~\|]+"
THREE_DIGITS = r"[0-9][0-9][0-9]"
DEFAULT = (PUNCTUATION, GPT2, r"\p{N}+", THREE_DIGITS)

FAMILIES: dict[str, tuple[str, ...]] = {
    "default": DEFAULT,
    "falcon": (r"[\p{P}\$\+<=>\^~\|`]+", GPT2, THREE_DIGITS),
    **dict.fromkeys(("gpt-2", "phi-2", "mpt", "olmo", "jais", "gigachat", "roberta-bpe", "trillion"), (GPT2,)),
    **dict.fromkeys(
        ("smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"), (DIGITS, GPT2)
    ),
    **dict.fromkeys(("llama3", "llama-v3", "llama-bpe", "falcon3", "dbrx", "smaug-bpe", "pixtral"), (LLAMA3,)),
    **dict.fromkeys(("qwen2", "stablelm2", "deepseek-r1-qwen", "megrez", "hunyuan"), (QWEN2,)),
}
PLAIN_WORDS = frozenset(
    ("llama3", "llama-v3", "llama-bpe", "falcon3", "pixtral")
)  # a whole word that is a token stays one


def split_rules(pre: str) -> tuple[str, ...]:
    """The rules of a family; unknown ones are cut like "default"."""
    return FAMILIES.get(pre, DEFAULT)
