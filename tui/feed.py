"""From a backend to the screen: the screen asks at its own pace, and gets one look, however much has happened."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import islice

from msgspec.structs import replace

from slotview.engine.backend import Backend, FireRequest, RequestState, RequestView, Ticket
from slotview.engine.events import Event, Notice
from slotview.engine.observe.observer import Observer
from slotview.engine.snapshot import Snapshot
from slotview.widgets.look import NO_LOOK, Look

__all__ = ["Feed"]

_KEPT_EVENTS = 4096
_KEPT_REQUESTS = 2048


class Feed:
    """Polls one backend, draws conclusions, and keeps what the screen has not taken yet. It never blocks."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.look = NO_LOOK
        """What the screen shows; does not change while frozen."""
        self._observer = Observer()
        self._latest = NO_LOOK
        self._events: deque[Event] = deque(maxlen=_KEPT_EVENTS)
        self._lost = 0
        self._cursor = 0
        self._tickets: dict[int, Ticket] = {}
        self._over: dict[int, RequestView] = {}
        self._frozen = False

    @property
    def frozen(self) -> bool:
        """Whether the display is frozen; the backend and the conclusions go on."""
        return self._frozen

    def poll(self) -> bool:
        """Ask the backend; return whether there is anything new to show."""
        snapshot = self.backend.latest()
        events = self._new_events(snapshot)
        requests = self._views()
        if not events and requests == self._latest.requests and _same(snapshot, self._latest.snapshot):
            return False
        self._latest = Look(snapshot, self._observer.observe(snapshot, events), requests)
        return not self._frozen

    def take(self) -> Look:
        """Return what to show now; each event is in one look only."""
        if not self._frozen:
            self.look = replace(self._latest, events=self._take_events())
        elif not self.look.frozen:
            self.look = replace(self.look, events=(), frozen=True)
        return self.look

    def toggle_frozen(self) -> bool:
        """Freeze the display, or let it catch up; return whether it is frozen now."""
        self._frozen = not self._frozen
        return self._frozen

    def fire(self, request: FireRequest) -> Sequence[Ticket]:
        """Send prompts. Raises `BackendError`."""
        tickets = self.backend.submit(request)
        self._tickets |= {ticket.number: ticket for ticket in tickets}
        self._forget_old()
        return tickets

    def ticket(self, number: int) -> Ticket | None:
        """Return a request fired from here."""
        return self._tickets.get(number)

    def cancel_all(self) -> int:
        """Cancel all requests that still run or wait; return how many."""
        running = [ticket for ticket in self._tickets.values() if not self._view(ticket).state.is_over]
        for ticket in running:
            ticket.cancel()
        return len(running)

    def _new_events(self, snapshot: Snapshot) -> tuple[Event, ...]:
        batch = self.backend.events(self._cursor)
        self._cursor = batch.cursor
        self._lost += batch.dropped + max(0, len(self._events) + len(batch.events) - _KEPT_EVENTS)
        self._events.extend(batch.events)
        return batch.events

    def _take_events(self) -> tuple[Event, ...]:
        events = tuple(self._events)
        if self._lost:
            when = events[0].time if events else self._latest.snapshot.time
            events = (
                Notice(when, f"{self._lost} events came too fast to be kept and are not shown", "warning"),
                *events,
            )
        self._events.clear()
        self._lost = 0
        return events

    def _views(self) -> tuple[RequestView, ...]:
        """Ask all tickets; if one has failed, look at the server at once, since it may be gone."""
        n_over = len(self._over)
        views = tuple(self._view(ticket) for ticket in self._tickets.values())
        if any(view.state is RequestState.FAILED for view in islice(self._over.values(), n_over, None)):
            self.backend.look_now()
        return views

    def _view(self, ticket: Ticket) -> RequestView:
        """Ask a ticket; once it is over, its state no longer changes."""
        known = self._over.get(ticket.number)
        if known is not None:
            return known
        view = ticket.view()
        if view.state.is_over:
            self._over[ticket.number] = view
        return view

    def _forget_old(self) -> None:
        """Bound the list of requests: the oldest ones that are over go first."""
        for number in list(self._over)[: max(0, len(self._tickets) - _KEPT_REQUESTS)]:
            del self._over[number], self._tickets[number]


def _same(new: Snapshot, old: Snapshot) -> bool:
    """Whether two snapshots look the same; their ages are shown in whole seconds."""
    if new.serial != old.serial or new.health != old.health or new.poll != old.poll:
        return False
    return int(new.age or 0.0) == int(old.age or 0.0) and new.time - old.time < 1.0
