"""Which tokens end a generation: those that the file names, and those that llama.cpp knows by their spelling."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .token_kinds import TokenKind

__all__ = ["END_ROLES", "find_end_tokens"]

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
SHOWN_TEXTS = frozenset({"<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"})
END_ROLES = ("eot", "eom", *FIM_TEXTS)
"""Roles of tokens in the metadata that make them end a generation, besides eos."""


def find_end_tokens(
    named: Mapping[str, int | None], by_text: Mapping[str, int], kinds: list[TokenKind]
) -> frozenset[int]:
    """The end-of-generation tokens but the file's eos. ``named``: tokens by their role, of END_ROLES.

    Corrects ``kinds`` in place: tokens with such spellings are control tokens, whatever the file says.
    """
    spelled = {by_text[text] for text in EOG_TEXTS if text in by_text}
    for role, texts in FIM_TEXTS.items():
        if named[role] is None:
            spelled |= _first(by_text, texts)
    for token in spelled:
        kinds[token] |= TokenKind.CONTROL
    for token in (by_text[text] for text in SHOWN_TEXTS if text in by_text):
        kinds[token] = TokenKind.USER_DEFINED
    ends = spelled | {token for token in named.values() if token is not None}
    return frozenset(ends - _exceptions(by_text, kinds))


def _first(by_text: Mapping[str, int], texts: Iterable[str]) -> set[int]:
    return set(sorted(by_text[text] for text in texts if text in by_text)[:1])


def _exceptions(by_text: Mapping[str, int], kinds: list[TokenKind]) -> set[int]:
    """Tokens that end a generation in other vocabularies, but not in one that also has certain neighbours."""
    harmony = {"<|return|>", "<|call|>"} <= by_text.keys()
    solar = "<|flush|>" in by_text and bool({"<|call|>", "<|calls|>"} & by_text.keys())
    exceptions = set()
    if "<|end|>" in by_text and (harmony or solar):
        exceptions.add(by_text["<|end|>"])
        kinds[by_text["<|end|>"]] = TokenKind.USER_DEFINED
    if "</s>" in by_text and "<|tool_response>" in by_text:
        exceptions.add(by_text["</s>"])
        kinds[by_text["</s>"]] = TokenKind.NORMAL
    return exceptions
