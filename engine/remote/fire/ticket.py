"""A prompt sent to a server elsewhere: streamed over a connection of its own, and never sent twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from slotview.engine.backend import RequestState
from slotview.engine.ticket import BaseTicket

from ..http.client import OpenSockets
from ..http.credentials import NOBODY, Credentials
from ..http.faults import fault_of, transport_errors
from ..http.sse import events
from ..read.errors import read_refusal, words_of
from ..read.values import as_bool, as_count, as_map, as_number, as_text, first

if TYPE_CHECKING:
    import httpx

__all__ = ["RemoteTicket"]

_ERROR_BYTES = 64 * 1024


class RemoteTicket(BaseTicket):
    """Implements `Ticket`; `run` occupies a thread of its own until the answer has ended.

    ``early_head``: the server is of a build that begins its answer before it has a slot for it, so that only the first
    token tells that it has one.
    """

    def __init__(
        self,
        number: int,
        prompt: str,
        clock: Callable[[], float],
        credentials: Credentials = NOBODY,
        refused: Callable[[int, str], None] = lambda _number, _why: None,
        *,
        early_head: bool = False,
    ) -> None:
        super().__init__(number, prompt, clock)
        self._credentials = credentials
        self._refused = refused
        self._early_head = early_head
        self._sockets = OpenSockets()

    def fail(self, why: str, status: int | None = None) -> None:
        """End it with an error that quotes no secret."""
        super().fail(self._credentials.hide(why), status)

    def cancel(self) -> None:
        """Close the connection; the server frees the slot when it notices."""
        if self._end_early(RequestState.CANCELLED, "cancelled"):
            self._sockets.cut(for_good=True)

    def run(self, client: httpx.Client, path: str, body: Mapping[str, object]) -> None:
        """Send it and follow the stream to its end. It is never sent again, whatever happens."""
        import httpx

        if self._view.state.is_over:  # cancelled before it was sent
            return
        timeout = httpx.Timeout(None, connect=5.0)
        extensions = {"trace": self._sockets.trace}
        try:
            with client.stream("POST", path, json=body, timeout=timeout, extensions=extensions) as response:
                self._follow(response)
        except transport_errors() as error:
            self.fail(fault_of(error)[1])

    def _follow(self, response: httpx.Response) -> None:
        if response.status_code >= 300:
            where = response.headers.get("location", "")
            refusal = read_refusal(response.status_code, _head(response.iter_bytes()), where)
            self.fail(refusal.message, refusal.status)
            self._refused(self.number, self._credentials.hide(refusal.message))
            return
        if not self._early_head:
            self._started()
        heard = False
        for event in events(response.iter_bytes()):
            heard = True
            self._hear(event)
            if self._view.state.is_over:
                return
        self.fail("the stream ended before the answer did" if heard else "the answer is no stream of events")

    def _started(self) -> None:
        """Headers come when the slot starts with the prompt (spec §7.9)."""
        with self._lock:
            self._change(state=RequestState.PROMPT, queue_wait=self._elapsed())

    def _hear(self, event: Mapping[str, Any]) -> None:
        if error := event.get("error"):
            self.fail(words_of(event) or "error", as_count(as_map(error).get("code")))
            return
        with self._lock:
            if self._view.state.is_over:
                return
            if isinstance(content := event.get("content"), str) and content:
                self._parts.append(content)
            self._progress(event)
            if as_bool(event.get("stop")):
                self._finish(event)

    def _progress(self, event: Mapping[str, Any]) -> None:
        decoded = as_count(event.get("tokens_predicted"))  # before 2025 only at the end
        if not decoded and not event.get("content"):
            return
        elapsed = self._elapsed()
        begin = self._view.first_token if self._view.first_token is not None else elapsed
        span = elapsed - begin
        self._change(
            state=RequestState.GENERATING,
            first_token=begin,
            n_decoded=decoded,
            n_prompt=as_count(event.get("tokens_evaluated")),
            tokens_per_second=(decoded - 1) / span if decoded and decoded > 1 and span > 0 else None,
        )

    def _finish(self, event: Mapping[str, Any]) -> None:
        timings = as_map(event.get("timings"))
        speed = as_number(timings.get("predicted_per_second"))
        work = (as_number(timings.get("prompt_ms")) or 0.0) + (as_number(timings.get("predicted_ms")) or 0.0)
        self._end(
            RequestState.DONE,
            _stop_word(event),
            queue_wait=self._waited(work / 1000),
            slot=as_count(first(event, "id_slot", "slot_id")),
            n_prompt=as_count(event.get("tokens_evaluated")),
            n_cached=as_count(timings.get("cache_n")),
            n_decoded=as_count(event.get("tokens_predicted")),
            tokens_per_second=speed or self._view.tokens_per_second,
            truncated=as_bool(event.get("truncated")),
        )

    def _waited(self, work: float) -> float | None:
        """How long no slot was free: a proxy that holds the answer back until its end makes it look longer."""
        idle = self._elapsed() - work if work else None
        known = [seconds for seconds in (self._view.queue_wait, idle) if seconds is not None]
        return max(0.0, min(known)) if known else None


def _head(parts: Iterable[bytes]) -> bytes:
    """Enough of a body to read an error from it."""
    head = b""
    for part in parts:
        head += part
        if len(head) > _ERROR_BYTES:
            break
    return head


def _stop_word(event: Mapping[str, Any]) -> str | None:
    """Why it stopped; three booleans before December 2024 (spec §10.5)."""
    told = as_text(event.get("stop_type"), 40)
    if told is not None:
        return told
    old = (("stopped_eos", "eos"), ("stopped_word", "word"), ("stopped_limit", "limit"))
    return next((word for key, word in old if as_bool(event.get(key))), None)
