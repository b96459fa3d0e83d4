"""Questions about how many tokens of context each slot gets, with numbers."""

from __future__ import annotations

from random import Random

from .grammar import expand, tidy

__all__ = ["division_question", "slot_context"]

_TOTALS = (1024, 2048, 4096, 8192, 16384)
_SLOTS = (1, 2, 4, 8)
_TRAINED = 8192
_QUESTIONS = (
    "how [many tokens|much context] does each slot get with -c {total} -np {slots}?",
    "how big is a slot with -c {total} and -np {slots}?",
    "a context of {total} tokens and {slots} [slots|slot]: how much for each?",
    "what is the context of a slot with {total} tokens and {slots} [slots|slot]?",
    "how is a context of {total} divided by {slots} [slots|slot]?",
)
_SPLIT = "with -c {total} and -np {slots} each slot gets {share} tokens."
_UNIFIED = "with unified KV all {slots} slots share {total} cells, and each slot may use up to {share} tokens."


def _padded(tokens: int) -> int:
    return -(-tokens // 256) * 256


def slot_context(total: int, slots: int, unified: bool = False) -> int:
    """Tokens one slot may hold: the padded total (unified) or its padded share (split), at most the trained length."""
    share = _padded(total) if unified else _padded(_padded(total) // slots)
    return min(share, _TRAINED)


def division_question(rng: Random) -> tuple[str, str]:
    """A question with numbers in it and its answer."""
    total, slots = rng.choice(_TOTALS), rng.choice(_SLOTS)
    unified = slots > 1 and rng.random() < 0.25
    numbers = {"total": str(total), "slots": str(slots), "share": str(slot_context(total, slots, unified))}
    question = expand(rng.choice(_QUESTIONS), rng, numbers)
    if slots > 1:
        question = question.replace(" slot:", " slots:").replace(f"{slots} slot?", f"{slots} slots?")
    else:
        question = question.replace("1 slots", "1 slot")
    if unified:
        question = f"with unified KV, {question}"
    return tidy(question), tidy(expand(_UNIFIED if unified else _SPLIT, rng, numbers))
