"""Sends prompts to a server elsewhere, each from a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from slotview.engine.backend import FireRequest

from ..http.address import Address
from ..http.client import open_client
from ..http.credentials import Credentials
from ..http.faults import fault_of, transport_errors
from .ticket import RemoteTicket

if TYPE_CHECKING:
    import httpx

__all__ = ["PromptSender", "body_of"]


def body_of(request: FireRequest, model: str | None) -> dict[str, object]:
    """The JSON of POST /completion; what is None is left to the server."""
    fields: dict[str, object] = {
        "prompt": request.prompt,
        "stream": True,
        "n_predict": request.n_predict,
        "temperature": request.temperature,
        "seed": request.seed,
        "id_slot": request.id_slot,
        "slot_id": request.id_slot,  # its name until spring 2024
        "ignore_eos": request.ignore_eos or None,
        "model": model,
    }
    return {name: value for name, value in fields.items() if value is not None}


class PromptSender:
    """Sends requests over one client and remembers the open ones, to cancel them at the end.

    A thread of its own starts the requests' threads: starting 255 of them takes seconds on a busy machine, and it is
    the screen that asks for them.
    """

    def __init__(
        self,
        address: Address,
        credentials: Credentials,
        clock: Callable[[], float],
        refused: Callable[[int, str], None] = lambda _number, _why: None,
    ) -> None:
        self._refused = refused
        self._address = address
        self._credentials = credentials
        self._clock = clock
        self._n_fired = 0
        self._client: httpx.Client | None = None
        self._starter = ThreadPoolExecutor(1, "slotview-starter")
        self._open: list[RemoteTicket] = []
        self._threads: list[threading.Thread] = []

    def fire(
        self, request: FireRequest, path: str, model: str | None, *, early_head: bool = False
    ) -> list[RemoteTicket]:
        """Send ``request.count`` requests at once; returns before they are sent. ``early_head``: see `RemoteTicket`."""
        numbers = range(self._n_fired + 1, self._n_fired + 1 + request.count)
        self._n_fired += request.count
        tickets = [
            RemoteTicket(number, request.prompt, self._clock, self._credentials, self._refused, early_head=early_head)
            for number in numbers
        ]
        self._open = [*(ticket for ticket in self._open if not ticket.view().state.is_over), *tickets]
        self._starter.submit(self._start, tickets, path, body_of(request, model))
        return tickets

    def _start(self, tickets: Sequence[RemoteTicket], path: str, body: Mapping[str, object]) -> None:
        """Start a thread for each request, in the starter's thread."""
        try:
            client = self._client = self._client or open_client(self._address, self._credentials, keep=0)
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
