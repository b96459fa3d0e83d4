"""Which tokens end a generation: those that the file names, and those that llama.cpp knows by their spelling."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .token_kinds import TokenKind

__all__ = ["ROLES", "find_end_tokens"]

EOT_TEXTS = (
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "<｜end▁of▁sentence｜>",
    "<end_of_utterance>",
)
EOG_TEXTS = frozenset(EOT_TEXTS) | {
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "</s>",
    "<|eom_id|>",
    "[EOS]",
    "<eos>",
    "<turn|>",
    "<|tool_response>",
    "[e~[",
}
FIM_TEXTS = {
    "fim_pad": ("<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"),
    "fim_rep": ("<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"),
    "fim_sep": ("<|file_sep|>",),
}
INFILL_TEXTS = {
    "fim_pre": (
        "<|fim_prefix|>",
        "<fim-prefix>",
        "<fim_prefix>",
        "<｜fim▁begin｜>",
        "<PRE>",
        "▁<PRE>",
        "<|code_prefix|>",
        "<|prefix|>",
    ),
    "fim_suf": (
        "<|fim_suffix|>",
        "<fim-suffix>",
        "<fim_suffix>",
        "<｜fim▁hole｜>",
        "<SUF>",
        "▁<SUF>",
        "<|code_suffix|>",
        "<|suffix|>",
    ),
    "fim_mid": (
        "<|fim_middle|>",
        "<fim-middle>",
        "<fim_middle>",
        "<｜fim▁end｜>",
        "<MID>",
        "▁<MID>",
        "<|code_middle|>",
        "<|middle|>",
    ),
}
SHOWN_TEXTS = frozenset({"<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"})
ROLES = {role: (role,) for role in ("eos", "eot", "eom", *FIM_TEXTS)} | {
    "fim_pre": ("fim_pre", "prefix"),
    "fim_suf": ("fim_suf", "suffix"),
    "fim_mid": ("fim_mid", "middle"),
}
"""Roles that files name tokens for, and the keys they use, the older one last: ``tokenizer.ggml.*_token_id``."""


def find_end_tokens(
    named: Mapping[str, int | None], by_text: Mapping[str, int], kinds: list[TokenKind]
) -> frozenset[int]:
    """All end-of-generation tokens. ``named``: tokens that the file names, by their role in ROLES.

    Corrects ``kinds`` in place: tokens with spellings of special ones are control tokens, whatever the file says.
    """
    spelled = {by_text[text] for text in EOG_TEXTS if text in by_text} | _unnamed(FIM_TEXTS, named, by_text)
    for token in spelled | _unnamed(INFILL_TEXTS, named, by_text):
        kinds[token] |= TokenKind.CONTROL
    for token in (by_text[text] for text in SHOWN_TEXTS if text in by_text):
        kinds[token] = TokenKind.USER_DEFINED
    ends = spelled | {token for role, token in named.items() if token is not None and role not in INFILL_TEXTS}
    return frozenset(ends - _exceptions(ends, by_text, kinds))


def _unnamed(
    texts: Mapping[str, Iterable[str]], named: Mapping[str, int | None], by_text: Mapping[str, int]
) -> set[int]:
    """The token for each role that the file names none for, found by its spelling."""
    found: set[int] = set()
    for role in texts:
        if named[role] is None:
            found |= _first(by_text, texts[role])
    return found


def _first(by_text: Mapping[str, int], texts: Iterable[str]) -> set[int]:
    return set(sorted(by_text[text] for text in texts if text in by_text)[:1])


def _exceptions(ends: set[int], by_text: Mapping[str, int], kinds: list[TokenKind]) -> set[int]:
    """Tokens that end a generation in other vocabularies, but not in one that also has certain neighbours."""
    harmony = {"<|return|>", "<|call|>"} <= by_text.keys()
    solar = "<|flush|>" in by_text and bool({"<|call|>", "<|calls|>"} & by_text.keys())
    exceptions = set()
    if "<|end|>" in by_text and (harmony or solar):
        exceptions.add(by_text["<|end|>"])
        kinds[by_text["<|end|>"]] = TokenKind.USER_DEFINED
    plain = {"<|tool_response>", "<|plamo:eos|>"}
    if "</s>" in by_text and any(by_text.get(text) in ends for text in plain):
        exceptions.add(by_text["</s>"])
        kinds[by_text["</s>"]] = TokenKind.NORMAL
    return exceptions
