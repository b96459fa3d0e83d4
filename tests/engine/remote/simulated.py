"""A server in virtual time: what is asked when, without a thread, a socket or a wait."""

from __future__ import annotations

from collections.abc import Callable

from slotview.engine.remote.cadence import Cadence
from slotview.engine.remote.http.answer import Answer
from slotview.engine.remote.knowledge.endpoint import DIRECT, QUEUED, Route
from slotview.engine.remote.knowledge.learning import Knowledge, decode
from slotview.engine.remote.polling.schedule import next_question
from tests.fake_server import Reply

__all__ = ["Simulation"]

Server = Callable[[str, dict[str, str], float], Reply | Answer]


class Simulation:
    """Asks ``server(path, params, time)`` as the poller would, each answer taking ``latency`` seconds."""

    def __init__(self, server: Server, *, interval: float = 1.0, backoff: bool = True, latency: float = 0.002,
                 model: str | None = None, metrics_every: float | None = None) -> None:  # fmt: skip
        self.known = Knowledge(Cadence(interval, backoff=backoff, metrics_every=metrics_every), model=model)
        self.server = server
        self.latency = latency
        self.now = 0.0
        self.asked: list[tuple[float, str, dict[str, str]]] = []

    def run(self, seconds: float) -> None:
        """Let time pass."""
        end = self.now + seconds
        while self.now < end:
            times = [self._ask(lane) for lane in (DIRECT, QUEUED)]
            if None not in times:
                self.now = min(end, max(self.now + 0.001, min(when for when in times if when is not None)))

    def _ask(self, lane: tuple[Route, ...]) -> float | None:
        name, when = next_question(self.known, lane, self.now)
        if name is None:
            return when
        path, params = self.known.ask(name, self.now)
        self.asked.append((self.now, path, params))
        reply = self.server(path, params, self.now)
        answer = reply if isinstance(reply, Answer) else _answer(reply)
        self.now += self.latency
        self.known.settle(name, answer, decode(name, answer), self.now)
        return None

    def times(self, path: str) -> list[float]:
        """When a path was asked."""
        return [when for when, asked, _ in self.asked if asked == path]

    def busiest_second(self, since: float = 0.0) -> int:
        """The most questions within any one second."""
        times = [when for when, _, _ in self.asked if when >= since]
        return max((sum(start <= when < start + 0.999 for when in times) for start in times), default=0)


def _answer(reply: Reply) -> Answer:
    mark = reply.headers.get("process-start-time-unix")
    return Answer(reply.status, reply.body, seconds=0.002, start_mark=mark)
