"""llama-server's log lines (spec §9): made only when somebody wants their level."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from slotview.engine.events import LogLine

if TYPE_CHECKING:
    from ..slot import Slot

__all__ = ["Log"]

ERROR, WARNING, INFO, TRACE, DEBUG = 1, 2, 3, 4, 5


class Log:
    """Writes `LogLine` events up to ``verbosity`` (``-lv``). Trace lines carry the letter I, as the server's do."""

    def __init__(self, verbosity: int, write: Callable[[LogLine], None], now: Callable[[], int]) -> None:
        self._write = write
        self._now = now
        self.info = verbosity >= INFO
        self.trace = verbosity >= TRACE
        self.debug = verbosity >= DEBUG
        self._letters = {"E": verbosity >= ERROR, "W": verbosity >= WARNING, "I": self.info, "T": self.trace}
        self._letters["D"] = self.debug

    def srv(self, level: str, function: str, text: str) -> None:
        """A line of the server in general; level E, W, I, T or D."""
        if self._letters[level]:
            self._put(level, f"srv  {function[:12]:>12}: {text}")

    def que(self, text: str) -> None:
        """A debug line of the queues."""
        if self.debug:
            self._put("D", f"srv  {'process_sing':>12}: {text}")

    def slot(self, level: str, function: str, slot: Slot, text: str) -> None:
        """A line of one slot."""
        if self._letters[level]:
            task = -1 if slot.job is None else slot.job.task
            self._put(level, f"slot {function[:12]:>12}: id {slot.id:2d} | task {task} | {text}")

    def library(self, level: str, text: str) -> None:
        """A line of the library, which has no prefix of the server's."""
        if self._letters[level]:
            self._put(level, text)

    def _put(self, level: str, text: str) -> None:
        self._write(LogLine(self._now() / 1e6, "I" if level == "T" else level, text))
