"""What the rules of findings may look at, and how such a rule is written down."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field

from slotview.engine.snapshot import SlotView, Snapshot, WaitingRequest

from ..observation import Finding, Point, SlotRate
from ..track import TaskTrack
from .memory import Memory

__all__ = ["Rule", "Scene"]


class Scene(Struct):
    """The current moment and what was noted before it; rules only read it.

    ``busy`` slots have a task, ``idle`` ones have none; of others it is not known.
    """

    snapshot: Snapshot
    rates: Mapping[int, SlotRate]
    tracks: Mapping[int, TaskTrack]
    memory: Memory
    history: Sequence[Point] = ()
    n_tasks: int = 0  # seen since watching began
    busy: list[SlotView] = field(default_factory=list)
    idle: list[SlotView] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.busy = [slot for slot in self.slots if slot.is_busy]
        self.idle = [slot for slot in self.slots if slot.is_idle]

    @property
    def slots(self) -> tuple[SlotView, ...]:
        """All reported slots."""
        return self.snapshot.slots or ()

    @property
    def waiting(self) -> int:
        """How many requests are known to be waiting; slot actions do not count."""
        requests = self.snapshot.waiting.requests
        if requests is None:
            return self.snapshot.waiting.now or 0
        return len(self.queue)

    @property
    def queue(self) -> list[WaitingRequest]:
        """The waiting requests in queue order, if the backend reports them."""
        return [request for request in self.snapshot.waiting.requests or () if request.kind == "completion"]


class Rule(Struct, frozen=True):
    """The rule of a finding: it is shown once it has held for ``after`` seconds, and for ``linger`` seconds after that.

    It lingers only until a finding about the same ``subject`` takes its place, since the two would contradict each
    other.
    """

    find: Callable[[Scene], Finding | None]
    after: float = 2.0
    linger: float = 5.0
    subject: str = ""
