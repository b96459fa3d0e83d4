"""Where the old prompt and the new one part, for ``LLAMA_SERVER_SLOTS_DEBUG`` (spec §1.4)."""

from __future__ import annotations

from slotview.engine.model.interface import TokenIds, Tokenizer

from ..slot import Slot

__all__ = ["prefix_dump"]


def prefix_dump(slot: Slot, prompt: TokenIds, n_past: int, n_around: int, tokenizer: Tokenizer) -> list[str]:
    """Four lines: the pieces of both around the cut, then the token ids of both, 8 characters each."""
    first = max(n_past - n_around, 0)
    end = min(n_past + n_around + 2, slot.n_tokens, len(prompt))
    old, new = slot.tokens[first:end].tolist(), prompt[first:end].tolist()
    cut = n_past - first
    texts = [f"{name}: ... {_pieces(ids, cut, tokenizer)}" for name, ids in (("old", old), ("new", new))]
    return texts + ["".join(f"{token:8d}" for token in ids) for ids in (old, new)]


def _pieces(ids: list[int], cut: int, tokenizer: Tokenizer) -> str:
    marked = [b" | " * (i == cut) + tokenizer.piece(token, special=True) for i, token in enumerate(ids)]
    return b"".join(marked).decode("utf-8", "replace")
