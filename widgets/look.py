"""What every live widget is given at each refresh."""

from __future__ import annotations

from msgspec import Struct

from slotview.engine.backend import RequestState, RequestView
from slotview.engine.events import Event
from slotview.engine.observe.observation import NOTHING_OBSERVED, Observation
from slotview.engine.snapshot import EMPTY, Snapshot

__all__ = ["NO_LOOK", "Look"]


class Look(Struct, frozen=True):
    """One moment as the screen shows it.

    ``requests`` are those fired from here, oldest first. ``events`` happened since the look before; each is in one look
    only. ``frozen``: the user has stopped the display while the server goes on.
    """

    snapshot: Snapshot = EMPTY
    observation: Observation = NOTHING_OBSERVED
    requests: tuple[RequestView, ...] = ()
    events: tuple[Event, ...] = ()
    frozen: bool = False

    @property
    def n_open(self) -> int:
        """How many fired requests are not over."""
        return sum(not request.state.is_over for request in self.requests)

    @property
    def n_unseen(self) -> int:
        """How many fired requests the engine has not looked at yet, as it does so between two steps.

        0 where nothing tells which requests wait, as on a server elsewhere.
        """
        if self.snapshot.waiting.requests is None:
            return 0
        seen = {request.task for request in self.snapshot.waiting.requests}
        seen |= {slot.task for slot in self.snapshot.slots or () if slot.is_busy and slot.task is not None}
        return sum(view.state is RequestState.WAITING and view.task not in seen for view in self.requests)


NO_LOOK = Look()
