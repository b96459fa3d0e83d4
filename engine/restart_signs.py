"""Signs that a server was restarted between two looks at it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .snapshot import SlotState, SlotView, Totals

__all__ = ["counters_fell", "counters_moved", "ids_began_again", "ids_fell", "slots_are_fresh"]


def ids_began_again(before: Iterable[SlotView], after: Iterable[SlotView]) -> bool:
    """Whether all task ids lie below all of those before, or a used slot is unused again (spec §7.3).

    A waiting task may start after a younger one (spec §5.5), so a single lower id proves nothing.
    """
    before, after = tuple(before), tuple(after)
    return slots_are_fresh(before, after) or ids_fell(before, after)


def slots_are_fresh(before: Iterable[SlotView], after: Iterable[SlotView]) -> bool:
    """Whether a used slot is unused again."""
    used = {slot.id for slot in before if slot.state is not SlotState.UNUSED}
    return any(slot.state is SlotState.UNUSED and slot.id in used for slot in after)


def ids_fell(before: Iterable[SlotView], after: Iterable[SlotView]) -> bool:
    """Whether all task ids lie below all of those before."""
    old, new = list(_tasks(before)), list(_tasks(after))
    return bool(old and new) and max(new) < min(old)


def _tasks(slots: Iterable[SlotView]) -> Iterator[int]:
    return (slot.task for slot in slots if slot.task is not None and slot.task >= 0)


def counters_fell(before: Totals, after: Totals) -> bool:
    """Whether a counter went back, which it only does when the server starts again."""
    return any(new < old for old, new in _counters(before, after))


def counters_moved(before: Totals, after: Totals) -> bool:
    """Whether the server did anything in between."""
    return any(new != old for old, new in _counters(before, after))


def _counters(before: Totals, after: Totals) -> Iterator[tuple[float, float]]:
    """Pairs of values, before and after, of counters that only grow."""
    pairs = (
        (before.predicted_tokens, after.predicted_tokens),
        (before.prompt_tokens, after.prompt_tokens),
        (before.decodes, after.decodes),
    )
    return ((old, new) for old, new in pairs if old is not None and new is not None)
