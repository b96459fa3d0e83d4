"""What two answers cannot tell: the work of tasks that ended in between."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ..snapshot import SlotView
from .track import TaskTrack

__all__ = ["UnseenWork"]

REMEMBERED = 512  # tasks whose end was told
LONG = 1.5  # seconds in which a whole task may run in a slot between two others


class _End(Struct, frozen=True):
    """A task that ended at about this time: whether it may have decoded or processed tokens that nobody saw."""

    task: int | None
    at: float
    generated: bool
    processed: bool


class UnseenWork:
    """Notes the ends that nobody told, of the last ``window`` seconds.

    What an idle slot holds shows how far its last task got, as long as the slot keeps it. A counter that was read after
    the end of a task has the rest.
    """

    def __init__(self, window: float) -> None:
        self._window = window
        self._ends: list[_End] = []
        self._tasks: dict[int, int | None] = {}
        self._busy: set[int] = set()
        self._told: deque[int] = deque(maxlen=REMEMBERED)

    @property
    def generated(self) -> bool:
        """Whether tokens may have been decoded lately that no answer told of."""
        return any(end.generated for end in self._ends)

    @property
    def processed(self) -> bool:
        """Whether prompt tokens may have been processed lately that no answer told of."""
        return any(end.processed for end in self._ends)

    def told(self, task: int) -> None:
        """Note that the end of a task was reported with its counts."""
        self._told.append(task)
        self._ends = [end for end in self._ends if end.task != task]

    def answer(self, slots: Sequence[SlotView], left: Iterable[TaskTrack], at: float, gap: float) -> int:
        """Take in an answer, ``gap`` seconds after the one before, and the tasks that have left.

        Returns the tokens that these are seen to have decoded at last.
        """
        self._ends = [end for end in self._ends if end.at > at - self._window]
        tracks = {track.slot: track for track in left}
        if gap > LONG and self._tasks and any(slot.is_busy and slot.id not in self._busy for slot in slots):
            self._note(_End(None, at, generated=True, processed=True))  # others may have run before
        before = self._tasks
        more = sum(
            self._after(slot, tracks.get(slot.id), at)
            for slot in slots
            if slot.id in tracks or slot.task != before.get(slot.id, slot.task)
        )
        self._tasks = {slot.id: slot.task for slot in slots}
        self._busy = {slot.id for slot in slots if slot.is_busy}
        return more

    def counted(self, since: float, until: float) -> None:
        """Note that a counter has what was decoded by the tasks that ended between these times."""
        ends = (replace(end, generated=end.generated and not since < end.at < until) for end in self._ends)
        self._ends = [end for end in ends if end.generated or end.processed]

    def _after(self, slot: SlotView, track: TaskTrack | None, at: float) -> int:
        """What was decoded in a slot since the answer before, by tasks that are over."""
        is_other = slot.task != self._tasks.get(slot.id, slot.task)
        if is_other and not slot.is_busy:
            self._note(_End(slot.task, at, generated=True, processed=True))
        if track is None or track.task in self._told:
            return 0
        tail = None if is_other or slot.is_busy else _tail(slot, track)
        self._note(_End(track.task, at, generated=tail is None, processed=not track.sampled))
        return tail or 0

    def _note(self, end: _End) -> None:
        if (end.generated or end.processed) and end.task not in self._told:
            self._ends.append(end)


def _tail(slot: SlotView, track: TaskTrack) -> int | None:
    """Tokens that a task decoded after it was seen last; the very last one is not in the slot (spec §4.4)."""
    if track.beside is None or track.n_decoded is None or slot.n_tokens is None:
        return None
    tail = slot.n_tokens - track.beside - track.n_decoded
    return tail if tail >= 0 else None
