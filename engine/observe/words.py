"""Numbers and lists in words."""

from __future__ import annotations

from collections.abc import Iterable

from ..snapshot import SlotView

__all__ = ["count", "duration", "ids", "percent"]

SHOWN = 4  # slots named in a line; the rest are only counted


def count(number: float) -> str:
    """A whole number with a space between thousands: 51 200."""
    return f"{number:,.0f}".replace(",", " ")


def percent(share: float) -> str:
    """``28 %``; never rounded up to 100."""
    return f"{min(99, round(share * 100)) if share < 1 else round(share * 100)} %"


def ids(slots: Iterable[SlotView]) -> str:
    """``slot 3`` or ``slots 0, 1, 3``; long lists are cut."""
    numbers = sorted(slot.id for slot in slots)
    if len(numbers) == 1:
        return f"slot {numbers[0]}"
    shown = ", ".join(str(number) for number in numbers[:SHOWN])
    rest = len(numbers) - SHOWN
    return f"slots {shown} and {rest} more" if rest > 0 else f"slots {shown}"


def duration(seconds: float) -> str:
    """``37 s``, ``10 m``, ``1 h 5 m``; the larger the coarser."""
    whole = int(seconds)
    if whole < 120:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 10 and rest:
        return f"{minutes} m {rest} s"
    if minutes < 120:
        return f"{minutes} m"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} m" if minutes else f"{hours} h"
