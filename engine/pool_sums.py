"""What the slots reveal about the pool they share, for servers that do not report the pool itself (spec §10.3)."""

from __future__ import annotations

from collections.abc import Iterable

from .snapshot import SlotState, SlotView

__all__ = ["possible_sizes", "tokens_held"]


def tokens_held(slots: Iterable[SlotView], *, busy: bool) -> int | None:
    """Tokens in the busy slots, or in the idle ones; None if one of them does not say, or does not say what it is.

    Unused slots hold none.
    """
    total = 0
    for slot in slots:
        if slot.state is SlotState.UNUSED or slot.n_tokens == 0:
            continue
        if slot.state is SlotState.UNKNOWN:
            return None
        if slot.is_busy is busy:
            if slot.n_tokens is None:
                return None
            total += slot.n_tokens
    return total


def possible_sizes(n_ctx_slot: int | None, n_slots: int | None) -> tuple[int, ...]:
    """Sizes in tokens that the pool may have: one that all slots share, or a part for each; () if nothing is known."""
    if not n_ctx_slot or not n_slots:
        return ()
    return (n_ctx_slot,) if n_slots == 1 else (n_ctx_slot, n_ctx_slot * n_slots)
