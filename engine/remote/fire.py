"""Prompts sent to a server elsewhere: one thread and one connection each, streamed, never sent twice."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..backend import FireRequest, RequestState, RequestView
from .address import Address, Secret
from .client import OpenSockets, open_client
from .faults import fault_of, transport_errors
from .read_errors import read_refusal, words_of
from .sse import events
from .values import as_bool, as_count, as_map, as_number, as_text

if TYPE_CHECKING:
    import httpx

__all__ = ["Gun", "RemoteTicket", "body_of"]

_ERROR_BYTES = 64 * 1024


def body_of(request: FireRequest, model: str | None) -> dict[str, object]:
    """The JSON of POST /completion; what is None is left to the server."""
    fields: dict[str, object] = {
        "prompt": request.prompt,
        "stream": True,
        "n_predict": request.n_predict,
        "temperature": request.temperature,
        "seed": request.seed,
        "id_slot": request.id_slot,
        "ignore_eos": request.ignore_eos or None,
        "model": model,
    }
    return {name: value for name, value in fields.items() if value is not None}


class RemoteTicket:
    """One fired request; see `Ticket`."""

    def __init__(self, number: int, prompt: str, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._sockets = OpenSockets()
        self._view = RequestView(number, RequestState.WAITING, prompt, clock())
        self._parts: list[str] = []
        self._taken = 0
        self._cancelled = False

    @property
    def number(self) -> int:
        """Its number among those fired from here, from 1."""
        return self._view.number

    def view(self) -> RequestView:
        """Return its present state."""
        return self._view

    def take(self) -> str:
        """Return the text that came since the last call."""
        with self._lock:
            start, self._taken = self._taken, len(self._parts)
            return "".join(self._parts[start:])

    def text(self) -> str:
        """Return all text so far."""
        with self._lock:
            return "".join(self._parts)

    def cancel(self) -> None:
        """Close the connection; the server frees the slot when it notices."""
        with self._lock:
            if self._view.state.is_over:
                return
            self._cancelled = True
            self._end(RequestState.CANCELLED, finish="cancelled")
        self._sockets.cut(for_good=True)

    # From its own thread

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
            return
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
            waited = self._clock() - self._view.fired_at
            self._change(state=RequestState.PROMPT, queue_wait=waited)

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
        decoded = as_count(event.get("tokens_predicted"))
        if not decoded:
            return
        elapsed = self._clock() - self._view.fired_at
        first = self._view.first_token if self._view.first_token is not None else elapsed
        span = elapsed - first
        self._change(
            state=RequestState.GENERATING,
            first_token=first,
            n_decoded=decoded,
            n_prompt=as_count(event.get("tokens_evaluated")),
            tokens_per_second=(decoded - 1) / span if decoded > 1 and span > 0 else None,
        )

    def _finish(self, event: Mapping[str, Any]) -> None:
        timings = as_map(event.get("timings"))
        speed = as_number(timings.get("predicted_per_second"))
        self._change(
            slot=as_count(event.get("id_slot")),
            n_prompt=as_count(event.get("tokens_evaluated")),
            n_cached=as_count(timings.get("cache_n")),
            n_decoded=as_count(event.get("tokens_predicted")),
            tokens_per_second=speed or self._view.tokens_per_second,
            truncated=as_bool(event.get("truncated")),
        )
        self._end(RequestState.DONE, finish=_stop_word(event))

    def fail(self, text: str, status: int | None = None) -> None:
        """End it without an answer, unless it is over."""
        with self._lock:
            if not self._view.state.is_over:
                self._change(status=status)
                self._end(RequestState.FAILED, finish=text)

    def _end(self, state: RequestState, finish: str | None) -> None:
        self._change(state=state, finish=finish, total_seconds=self._clock() - self._view.fired_at)

    def _change(self, **fields: Any) -> None:
        self._view = replace(self._view, **fields)


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


class Gun:
    """Fires requests over one client and keeps those that are open, to cancel them at the end.

    A thread of its own starts theirs: to start 255 takes seconds on a busy machine, and the screen asks for them.
    """

    def __init__(self, address: Address, authorization: Secret | None, clock: Callable[[], float]) -> None:
        self._address = address
        self._authorization = authorization
        self._clock = clock
        self._fired = 0
        self._client: httpx.Client | None = None
        self._starter = ThreadPoolExecutor(1, "slotview-starter")
        self._open: list[RemoteTicket] = []
        self._threads: list[threading.Thread] = []

    def fire(self, request: FireRequest, path: str, model: str | None) -> list[RemoteTicket]:
        """Send ``request.count`` requests at once; returns before they are sent."""
        numbers = range(self._fired + 1, self._fired + 1 + request.count)
        self._fired += request.count
        tickets = [RemoteTicket(number, request.prompt, self._clock) for number in numbers]
        self._open = [*(ticket for ticket in self._open if not ticket.view().state.is_over), *tickets]
        self._starter.submit(self._start, tickets, path, body_of(request, model))
        return tickets

    def _start(self, tickets: Sequence[RemoteTicket], path: str, body: Mapping[str, object]) -> None:
        """Start a thread for each request, in the starter's thread."""
        try:
            client = self._client = self._client or open_client(self._address, self._authorization, keep=0)
        except transport_errors() as error:
            for ticket in tickets:
                ticket.fail(fault_of(error)[1])
            return
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        for ticket in tickets:
            name = f"slotview-request-{ticket.number}"
            thread = threading.Thread(target=ticket.run, args=(client, path, body), name=name, daemon=True)
            thread.start()
            self._threads.append(thread)

    def close(self) -> None:
        """Cancel what is open."""
        for ticket in self._open:
            ticket.cancel()
        self._starter.shutdown()
        for thread in self._threads:
            thread.join(0.5)
        if self._client is not None:
            self._client.close()
