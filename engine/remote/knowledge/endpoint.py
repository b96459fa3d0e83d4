"""What is known about each endpoint of a server: when it was asked, and what it last said."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from slotview.engine.snapshot import EndpointState, EndpointView

from ..http.answer import UNREAD, Answer, Fault
from ..read.errors import Refusal, state_of

__all__ = ["DIRECT", "QUEUED", "Endpoint", "Route", "ServerKind"]


class Route(StrEnum):
    """The names of the endpoints that are polled."""

    PROPS = "props"
    HEALTH = "health"
    MODELS = "models"
    RUNNING = "running"
    SLOTS = "slots"
    METRICS = "metrics"


DIRECT = (Route.PROPS, Route.HEALTH, Route.RUNNING, Route.MODELS)
"""Answered by any HTTP thread; in the order in which they are asked."""

QUEUED = (Route.SLOTS, Route.METRICS)
"""Answered by the server's main loop, so they may wait for a decode (before August 2026, for a whole prompt)."""


class ServerKind(StrEnum):
    """What is at the address."""

    UNKNOWN = "unknown"
    SERVER = "server"
    ROUTER = "router"
    SWAP = "llama-swap"


class Endpoint(Struct):
    """One endpoint. Times are on the poller's clock; ``open`` = asked and not yet answered; ``arriving`` =
    the head of the answer is there.
    """

    name: Route
    state: EndpointState = EndpointState.UNKNOWN
    note: str = ""
    open: bool = False
    arriving: bool = False
    asked_at: float | None = None
    settled_at: float | None = None
    answered_at: float | None = None
    seconds: float | None = None
    lag: float = 0.0  # seconds that the last question took which was answered
    size: int = 0
    fault: Fault | None = None
    refusal: Refusal | None = None
    heard_at: float | None = None  # when anything at all came back
    epoch: int = 0  # of the model it was asked for
    rests_until: float = 0.0  # after a refusal
    age: float = 0.0  # seconds for which a cache had kept the answer

    def ask(self, now: float) -> None:
        """Note that a question is sent."""
        self.open, self.arriving, self.asked_at = True, False, now

    def arrives(self, now: float) -> None:
        """Note that the answer begins."""
        self.arriving, self.heard_at = True, now

    def settle(self, answer: Answer, now: float) -> None:
        """Note that something came back, or that nothing will."""
        self.open, self.arriving = False, False
        self.settled_at, self.seconds, self.size = now, answer.seconds, len(answer.body)
        self.refusal, self.fault, self.age = None, answer.fault, answer.age
        if answer.fault is None or answer.fault in UNREAD:
            self.heard_at, self.lag = now, answer.seconds

    def hears(self, now: float, state: EndpointState = EndpointState.OK, note: str = "") -> None:
        """Note a usable answer, or a refusal, which ``note`` quotes."""
        self.state, self.note = state, note
        if state is EndpointState.OK:
            self.answered_at = now - self.age

    def refuses(self, refusal: Refusal, now: float, pause: float) -> None:
        """Note an answer with an error status, after which to ask nothing for ``pause`` seconds."""
        self.hears(now, state_of(refusal), refusal.message)
        self.refusal = refusal
        self.rests_until = now + pause

    def fails(self, answer: Answer) -> None:
        """Note that there was no answer."""
        self.note = answer.message
        self.state = {
            Fault.REFUSED: EndpointState.REFUSED,
            Fault.TOO_LARGE: EndpointState.TOO_LARGE if self.name is Route.SLOTS else EndpointState.BAD,
            Fault.GARBLED: EndpointState.BAD,
            Fault.NOT_HTTP: EndpointState.BAD,
        }.get(answer.fault or Fault.OTHER, EndpointState.NO_ANSWER)

    def forget(self) -> None:
        """Forget what it said, as that belongs to another server or model. The times of the questions stay."""
        self.state, self.note, self.settled_at = EndpointState.UNKNOWN, "", None
        self.refusal, self.fault = None, None

    @property
    def said(self) -> str:
        """What it answered last, in one line: a refusal with its status."""
        return self.refusal.told if self.refusal else self.note

    @property
    def is_odd(self) -> bool:
        """Whether it answers as no llama-server does; a server error (5xx) may come from any."""
        return self.state is EndpointState.BAD and (self.refusal is None or self.refusal.status < 500)

    @property
    def is_silent(self) -> bool:
        """Whether the server said nothing; a proxy that refuses at once, other than with 504, did not wait for it."""
        is_told = self.refusal is not None and self.refusal.status != 504
        return self.state in (EndpointState.NO_ANSWER, EndpointState.REFUSED) and not is_told

    @property
    def is_mute(self) -> bool:
        """Whether the last question got no answer at all, not even from a proxy."""
        return self.state is EndpointState.NO_ANSWER and self.refusal is None

    def waiting_for(self, now: float) -> float:
        """Seconds for which the current question has been open; 0 if there is none."""
        return now - self.asked_at if self.open and self.asked_at is not None else 0.0

    def since_asked(self, now: float) -> float:
        """Seconds since it was last asked; infinite if it never was."""
        return float("inf") if self.asked_at is None else now - self.asked_at

    def view(self) -> EndpointView:
        """A frozen copy, for the snapshot."""
        return EndpointView(self.state, self.note, self.answered_at, self.seconds)
