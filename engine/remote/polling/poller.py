"""Two threads that poll a server: one for what any HTTP thread answers, one for what waits for the main loop."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TypeVar

from slotview.engine.snapshot import EndpointState

from ..http.address import Address
from ..http.answer import Answer
from ..http.credentials import Credentials
from ..http.wire import Wire
from ..knowledge.endpoint import DIRECT, QUEUED, Route
from ..knowledge.learning import Knowledge, decode
from .schedule import next_question

__all__ = ["Poller"]

_LONGEST_NAP = 5.0

Made = TypeVar("Made")


class Poller:
    """Drives a `Knowledge`: one question at a time per thread, so at most one open per endpoint.

    One lock guards the `Knowledge`. Both callbacks are called with it held: ``hear`` with each raw answer before it is
    read, ``changed`` after each answer.
    """

    def __init__(
        self,
        known: Knowledge,
        address: Address,
        credentials: Credentials,
        clock: Callable[[], float],
        changed: Callable[[float], None],
        hear: Callable[[Route, Answer], None] = lambda _name, _answer: None,
    ) -> None:
        self._known = known
        self._clock = clock
        self._changed = changed
        self._hear = hear
        self._news = threading.Condition()
        self._closed = False
        self._wires = [Wire(address, credentials, keep=keep) for keep in (False, True)]
        lanes = ((DIRECT, known.patience.direct), (QUEUED, known.patience.queued))
        self._threads = [
            threading.Thread(target=self._work, args=(wire, *lane), name=f"slotview-{lane[0][0]}", daemon=True)
            for wire, lane in zip(self._wires, lanes, strict=True)
        ]

    def start(self) -> None:
        """Start polling."""
        for thread in self._threads:
            thread.start()

    def tell(self, action: Callable[[Knowledge, float], Made]) -> Made:
        """Change or read what is known, and let the threads reconsider what to ask."""
        with self._news:
            made = action(self._known, self._clock())
            self._changed(self._clock())
            self._news.notify_all()
            return made

    def wait_for_news(self, seconds: float) -> None:
        """Wait until something is asked or answered, but no longer than ``seconds``."""
        with self._news:
            self._news.wait(seconds)

    def close(self) -> None:
        """End both threads, even if they wait for an answer that never comes."""
        with self._news:
            self._closed = True
            self._news.notify_all()
        for wire in self._wires:
            wire.close()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(0.9)

    def _work(self, wire: Wire, names: Iterable[Route], seconds: float) -> None:
        try:
            while (name := self._next(names)) is not None:
                self._ask(wire, name, seconds)
        finally:
            wire.dispose()

    def _next(self, names: Iterable[Route]) -> Route | None:
        """Wait until an endpoint is due; None when closed."""
        with self._news:
            while not self._closed:
                now = self._clock()
                if names is DIRECT and self._known.cut_due(now):
                    self._wires[1].cut()
                name, when = next_question(self._known, names, now)
                if name is not None:
                    return name
                self._news.wait(min(max(when - now, 0.001), _LONGEST_NAP))
            return None

    def _arrives(self, name: Route) -> None:
        with self._news:
            self._known.endpoints[name].arrives(self._clock())

    def _ask(self, wire: Wire, name: Route, seconds: float) -> None:
        with self._news:
            path, params = self._known.ask(name, self._clock())
            self._news.notify_all()
        if name is Route.METRICS and not self._known.is_older:  # else one that is given up holds an HTTP thread as well
            seconds = min(seconds, self._known.patience.metrics)
        answer = wire.get(path, params, seconds, lambda: self._arrives(name))
        now = self._clock()
        body = decode(name, answer)
        with self._news:
            if self._closed:
                return
            try:
                self._hear(name, answer)
                self._known.settle(name, answer, body, now)
                self._changed(now)
            except Exception as error:
                # An answer of an unforeseen kind may cost that answer, but not the watching.
                self._known.endpoints[name].hears(now, EndpointState.BAD, f"not understood ({type(error).__name__})")
            self._news.notify_all()
