"""Questions about single slots, answered out of the next answer of /slots, so that none is asked twice."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from threading import Lock

from slotview.engine.backend import BackendError
from slotview.engine.snapshot import SlotDetails

from ..http.answer import Answer
from ..read.body import NotJsonError, parse_json
from ..read.left_over import LastRun
from ..read.slots import read_details

__all__ = ["DetailRequests"]


class DetailRequests:
    """Keeps who waits for the details of which slot. Asked by the screen's thread, served by the poller's."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: list[tuple[int, Future[SlotDetails]]] = []

    def ask(self, slot: int) -> Future[SlotDetails]:
        """Wait for the next answer; the future fails with `BackendError`."""
        future: Future[SlotDetails] = Future()
        with self._lock:
            self._waiting.append((slot, future))
        return future

    def hear(self, answer: Answer, over: Mapping[int, LastRun]) -> None:
        """Serve everyone who waits out of a raw answer of /slots; ``over`` is what earlier ones left over."""
        waiting = self._take()
        if not waiting:
            return
        body = _parsed(answer)
        for slot, future in waiting:
            details = read_details(body, slot, over)
            if details is None:
                future.set_exception(BackendError(f"the server said nothing about slot {slot}"))
            else:
                future.set_result(details)

    def give_up(self, why: str) -> None:
        """Fail everyone who waits: no answer will come."""
        for _, future in self._take():
            future.set_exception(BackendError(why))

    def _take(self) -> list[tuple[int, Future[SlotDetails]]]:
        with self._lock:
            waiting, self._waiting = self._waiting, []
            return waiting


def _parsed(answer: Answer) -> object:
    """The JSON of an answer with all its texts, or None if it holds none."""
    try:
        return parse_json(answer.body, keep_texts=True) if answer.status == 200 else None
    except NotJsonError:
        return None
