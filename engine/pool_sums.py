"""What the slots reveal about the pool they share, for servers that do not report the pool itself (spec §10.3)."""

from __future__ import annotations

from collections.abc import Iterable

from .snapshot import SlotState, SlotView

__all__ = ["possible_sizes", "tokens_held"]


def tokens_held(slots: Iterable[SlotView], *, busy: bool) -> int | None:
    """Tokens in the busy slots, or in the others; None if one of them does not say. Unused slots hold none."""
    total = 0
    for slot in slots:
        if slot.is_busy is busy and slot.state is not SlotState.UNUSED:
            if slot.n_tokens is None:
                return None
            total += slot.n_tokens
    return total


def possible_sizes(n_ctx_slot: int | None, n_slots: int | None) -> tuple[int, ...]:
    """Sizes in tokens that the pool may have: one that all slots share, or a part for each; () if nothing is known."""
    if not n_ctx_slot or not n_slots:
        return ()
    return (n_ctx_slot,) if n_slots == 1 else (n_ctx_slot, n_ctx_slot * n_slots)
