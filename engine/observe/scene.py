"""What a finding may look at, and how a finding's rule is written down."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ..snapshot import SlotView, Snapshot, WaitingRequest
from .memory import Memory
from .observation import Finding, Point, SlotRate
from .track import TaskTrack

__all__ = ["Rule", "Scene"]


@dataclass(slots=True)
class Scene:
    """The present moment and what was noted before it; rules only read it. ``busy`` slots have a task."""

    snapshot: Snapshot
    rates: Mapping[int, SlotRate]
    tracks: Mapping[int, TaskTrack]
    memory: Memory
    history: Sequence[Point] = ()
    n_tasks: int = 0  # seen since the watching began
    busy: list[SlotView] = field(init=False)
    idle: list[SlotView] = field(init=False)

    def __post_init__(self) -> None:
        self.busy = [slot for slot in self.slots if slot.is_busy]
        self.idle = [slot for slot in self.slots if not slot.is_busy]

    @property
    def slots(self) -> tuple[SlotView, ...]:
        """All slots told."""
        return self.snapshot.slots or ()

    @property
    def waiting(self) -> int:
        """Requests known to wait; slot actions that wait are not requests."""
        requests = self.snapshot.waiting.requests
        if requests is None:
            return self.snapshot.waiting.count or 0
        return len(self.queue)

    @property
    def queue(self) -> list[WaitingRequest]:
        """The waiting requests in queue order, where the backend tells them."""
        return [request for request in self.snapshot.waiting.requests or () if request.kind == "completion"]


@dataclass(frozen=True, slots=True)
class Rule:
    """A finding's rule: it must hold for ``after`` seconds to be shown and stays ``linger`` seconds after it ended.

    It stays only until one about the same ``subject`` is shown that holds: the two would contradict each other.
    """

    find: Callable[[Scene], Finding | None]
    after: float = 2.0
    linger: float = 5.0
    subject: str = ""
