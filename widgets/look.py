"""What every live widget is given at each refresh."""

from __future__ import annotations

from msgspec import Struct

from slotview.engine.backend import RequestView
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


NO_LOOK = Look()
