"""What is concluded from snapshots: rates, history, findings. Frozen, made once per refresh."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct, field

from ..events import Severity, TaskEnded

__all__ = ["NOTHING_OBSERVED", "Finding", "Observation", "Point", "SlotRate"]


class SlotRate(Struct, frozen=True):
    """Tokens per second of one slot's running task; None = not known yet. ``stalled_for``: seconds without progress."""

    prompt: float | None = None
    generation: float | None = None
    stalled_for: float | None = None


class Point(Struct, frozen=True):
    """One moment of the history; None = not known then. ``break_before``: a restart or a gap precedes it.

    Speeds are of all slots together; "at least" if the end of some tasks was not seen. ``slot_rates``: each slot's own,
    in the order of the ids in ``slots``.
    """

    time: float
    busy: int | None = None
    waiting: int | None = None
    prompt_rate: float | None = None
    generation_rate: float | None = None
    pool_used: int | None = None
    slots: tuple[int, ...] = ()
    slot_rates: tuple[float | None, ...] = ()
    break_before: bool = False
    prompt_at_least: bool = False
    generation_at_least: bool = False

    def slot_rate(self, slot: int) -> float | None:
        """A slot's own generation speed; None also where there was no such slot."""
        is_usual = slot < len(self.slots) and self.slots[slot] == slot
        if not is_usual and slot not in self.slots:
            return None
        return self.slot_rates[slot if is_usual else self.slots.index(slot)]


class Finding(Struct, frozen=True):
    """One conclusion: what is wrong or noteworthy, the evidence for it, and what to change, in one line each.

    ``key`` stays the same as long as the finding stands.
    """

    key: str
    text: str
    evidence: str
    advice: str
    severity: Severity = "warning"
    slots: tuple[int, ...] = ()


class Observation(Struct, frozen=True):
    """Everything derived from the snapshots so far. Rates are tokens per second of all slots together,
    or at least so many, if the end of some tasks was not seen.

    ``ended`` are the tasks that recently left their slots, oldest first. If no event reported a task's end, its reason
    is "unseen" and its count the last one seen: it decoded at least that many tokens.
    """

    rates: Mapping[int, SlotRate] = field(default_factory=lambda: MappingProxyType({}))
    prompt_rate: float | None = None
    generation_rate: float | None = None
    history: tuple[Point, ...] = ()
    findings: tuple[Finding, ...] = ()
    restarts: int = 0
    ended: tuple[TaskEnded, ...] = ()
    prompt_at_least: bool = False
    generation_at_least: bool = False


NOTHING_OBSERVED = Observation()
