"""Whether a server can be reached at all, and when to try again."""

from __future__ import annotations

from msgspec import Struct

from ..http.answer import Answer, Fault
from ..patience import PATIENT, Patience

__all__ = ["Link"]


class Link(Struct):
    """``up`` None = never tried. Retries come at doubling gaps."""

    patience: Patience = PATIENT
    up: bool | None = None
    fault: Fault | None = None
    message: str = ""
    down_since: float | None = None
    retry_at: float = 0.0
    fails: int = 0
    was_up: bool = False

    def fail(self, answer: Answer, asked_at: float, now: float) -> bool:
        """Note that a question any HTTP thread could answer got no answer; True if the link was up until now."""
        lost = self.up is True
        if self.up is not False:
            self.down_since = asked_at
        self.up, self.fault, self.message = False, answer.fault, answer.message
        self.retry_at = now + self.gap
        self.fails += 1
        return lost

    def answer(self) -> bool:
        """Note that something answered; True if the link was down until now."""
        back = self.up is False
        self.up, self.fault, self.fails = True, None, 0
        self.was_up = True
        return back

    @property
    def gap(self) -> float:
        """Seconds until the next try."""
        return self.patience.doubled(self.fails)
