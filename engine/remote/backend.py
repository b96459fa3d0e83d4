"""A llama-server elsewhere behind the Backend protocol."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

from msgspec.structs import replace

from ..backend import (
    BackendError,
    Capabilities,
    FireRequest,
    RetuneMode,
    RetunePreview,
    RetuneReport,
    SlotAction,
    SlotActionResult,
    Ticket,
    failed,
)
from ..context import LaunchFlags, ModelFacts
from ..events import EventBatch, EventRing, RequestRefused
from ..snapshot import Health, HealthState, ServerFacts, SlotDetails, Snapshot
from .cadence import Cadence
from .fire.actions import act
from .fire.sender import PromptSender
from .http.address import Address, AddressError, parse_address
from .http.answer import Answer
from .http.credentials import Credentials
from .http.proxy import peer_of
from .knowledge.details import DetailRequests
from .knowledge.endpoint import Route, ServerKind
from .knowledge.learning import Knowledge
from .knowledge.silence import is_overdue
from .patience import PATIENT, Patience
from .picture import picture
from .polling.poller import Poller
from .retune import known_flags, preview
from .verdict.word import judge

__all__ = ["MOST_REQUESTS", "RemoteBackend"]

MOST_REQUESTS = 256
SHORTEST_INTERVAL = 0.1

Made = TypeVar("Made")


class RemoteBackend:
    """Watches the server at ``url`` and implements `Backend`.

    ``api_key`` goes out as a Bearer token and is shown nowhere. ``model`` picks one of a router's models. ``interval``
    is seconds between looks while there is work. ``metrics_every``: seconds between reads of /metrics, None = with
    each look, 0 = never. ``backoff`` False keeps the pace also while idle. ``facts`` of the model file give the retune
    preview its sizes in bytes. Raises `AddressError` for a URL, key or interval that cannot be used.

    What is known changes only under the poller's lock; here, single values of it are read without.
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        model: str | None = None,
        interval: float = 1.0,
        metrics_every: float | None = None,
        backoff: bool = True,
        facts: ModelFacts | None = None,
        patience: Patience = PATIENT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._address: Address = parse_address(url)
        if any(seconds is not None and not 0 <= seconds < math.inf for seconds in (interval, metrics_every)):
            raise AddressError("an interval is a number of seconds, 0 or more")
        self._credentials = Credentials.of(self._address, api_key)
        self._facts = facts
        self._clock = clock
        self._known = Knowledge(
            Cadence(max(SHORTEST_INTERVAL, interval), backoff=backoff, metrics_every=metrics_every),
            patience,
            model or self._address.model,
            self._credentials.hide,
        )
        self._ring = EventRing()
        self._snapshot = Snapshot(time=clock(), facts=ServerFacts(source=self._address.shown))
        self._peer = peer_of(self._address)
        self._serial = 0
        self._since = (HealthState.CONNECTING, clock())
        self._details = DetailRequests()
        self._poller = Poller(self._known, self._address, self._credentials, clock, self._changed, self._hear)
        self._sender = PromptSender(self._address, self._credentials, clock, self._note_refusal)
        self._closed = False
        self._changed(clock())

    def __repr__(self) -> str:
        return f"RemoteBackend({self._address.shown})"

    # What is seen

    @property
    def capabilities(self) -> Capabilities:
        """Requests and slot actions have to be confirmed once per run."""
        able = self._known.slots is not None or self._known.kind is ServerKind.SERVER
        return Capabilities(
            fire=able, retune=RetuneMode.COMMAND, slot_actions=able, save_files=able, confirm=self._address.shown
        )

    @property
    def flags(self) -> LaunchFlags:
        """The number of slots; other flags only if a router reports them."""
        return known_flags(self._known, self._snapshot)

    def start(self) -> None:
        """Start polling, in threads of its own."""
        self._poller.start()

    def latest(self) -> Snapshot:
        """Return the newest snapshot with the current ``time``, and with a new verdict if time alone changes it."""
        now, snapshot = self._clock(), self._snapshot
        if not self._closed and is_overdue(self._known, now):
            return replace(snapshot, time=now, health=self._judge(now))
        return replace(snapshot, time=now)

    def events(self, after: int) -> EventBatch:
        """Return what happened after a cursor."""
        return self._ring.after(after)

    def wait_until(self, ready: Callable[[Snapshot], bool], seconds: float) -> Snapshot:
        """Block until ``ready`` accepts a snapshot, but no longer than ``seconds``; return the newest one."""
        end = time.monotonic() + seconds
        while not ready(self.latest()) and (left := end - time.monotonic()) > 0 and not self._closed:
            self._poller.wait_for_news(min(left, 0.25))
        return self.latest()

    def _changed(self, now: float) -> None:
        """Publish what is known; called with the poller's lock held."""
        health = self._judge(now)
        events, self._known.events = self._known.events, []
        self._ring.extend(events)
        self._serial += 1
        self._snapshot = picture(self._known, self._address.shown, health, now, self._serial)

    def _judge(self, now: float) -> Health:
        """The verdict, with the time since when it has held."""
        health = judge(self._known, self._peer, credentials=self._credentials, now=now)
        if health.state is not self._since[0]:
            self._since = (health.state, now)
        return health if health.since is not None else replace(health, since=self._since[1])

    # What is asked for

    def submit(self, request: FireRequest) -> list[Ticket]:
        """Fire requests, each over a connection of its own. Raises `BackendError`."""
        if self._closed:
            raise BackendError("the connection to the server was closed")
        if not 1 <= request.count <= MOST_REQUESTS:
            raise BackendError(f"{request.count} requests at once: use 1 to {MOST_REQUESTS}")
        self._refuse_unchosen()
        path, _ = self._known.route("slots")
        model = self._known.model_id if self._known.kind is ServerKind.ROUTER else None
        path = path.removesuffix("/slots") + "/completion"
        tickets = self._sender.fire(request, path, model, early_head=self._known.is_older)
        self.look_now()
        return list(tickets)

    def _note_refusal(self, number: int, why: str) -> None:
        self._poller.tell(lambda known, now: known.events.append(RequestRefused(now, number, why)))

    def _refuse_unchosen(self) -> None:
        if self._known.is_proxied and self._known.chosen is None:
            raise BackendError("the router needs to know for which model: choose one first, or use --model NAME")

    def details(self, slot: int) -> Future[SlotDetails]:
        """Fetch the parameters and the text of a slot with the next look, which follows at once."""
        if self._known.asleep:
            return failed("the model is asleep; looking would wake it")
        if self._known.slots is None or all(slot != view.id for view in self._known.slots):
            return failed(f"the server shows no slot {slot}")
        future = self._details.ask(slot)
        self.look_now()
        return future

    def _hear(self, name: Route, answer: Answer) -> None:
        """Pass on the raw answers that hold details; called with the poller's lock held."""
        if name is Route.SLOTS:
            self._details.hear(answer, self._known.runs_over)

    def preview(self, flags: LaunchFlags) -> RetunePreview:
        """Say what other flags would do, and give the command that starts the server with them."""
        has_key, is_older = self._credentials.key is not None, self._known.is_older
        return preview(flags, self._snapshot, self._address, self._facts, has_key=has_key, is_older=is_older)

    def retune(self, flags: LaunchFlags) -> Future[RetuneReport]:
        """Always fails: a running server cannot change its flags."""
        command = self.preview(flags).command
        hint = f"; restart it with: {command}" if command else ""
        return failed(f"a running llama-server cannot change these flags{hint}")

    def slot_action(self, action: SlotAction, slot: int, filename: str | None = None) -> Future[SlotActionResult]:
        """Save, restore or erase. An id that the server does not show is refused, since the server wraps ids around."""
        if slot not in self._known.told_ids or self._snapshot.slots is None:
            return failed(f"{action}: the server shows no slot {slot}")
        if action is not SlotAction.ERASE and not filename:
            return failed(f"{action} of slot {slot} needs a file name")
        path, _ = self._known.route("slots")
        body = {"filename": filename} if filename and action is not SlotAction.ERASE else {}
        if self._known.kind is ServerKind.ROUTER and (model := self._known.model_id):
            body["model"] = model
        return _in_thread(lambda: act(self._address, self._credentials, path, action, slot, body), self.look_now)

    def look_now(self) -> None:
        """Look at once, even at a sleeping model, and retry what had been given up."""
        self._poller.tell(lambda known, now: known.look_now(now))

    def set_interval(self, seconds: float) -> None:
        """Set the seconds between looks while there is work."""
        self._poller.tell(lambda known, _: known.cadence.set_interval(max(SHORTEST_INTERVAL, seconds)))

    @property
    def chosen_model(self) -> str | None:
        """The watched one of a router's models."""
        return self._known.chosen if self._known.entry is None else self._known.entry.name

    def choose_model(self, name: str) -> None:
        """Watch one of a router's models."""
        self._poller.tell(lambda known, _: known.choose(name))

    def close(self) -> None:
        """Stop polling; open requests end as cancelled."""
        if self._closed:
            return
        self._closed = True
        self._sender.close()
        self._poller.close()
        self._details.give_up("closed")


def _in_thread(work: Callable[[], Made], then: Callable[[], None]) -> Future[Made]:
    """Run ``work`` in a thread of its own, since it may wait for a busy slot for any length of time."""
    future: Future[Made] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BackendError as error:
            future.set_exception(error)
        then()

    Thread(target=run, name="slotview-action", daemon=True).start()
    return future
