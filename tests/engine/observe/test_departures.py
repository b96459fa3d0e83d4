"""One entry per task, whoever tells first that it left."""

from __future__ import annotations

import pytest

from slotview.engine.events import TaskEnded
from slotview.engine.observe.departures import Departure, Departures
from slotview.engine.observe.track import TaskTrack

TRACK = TaskTrack(0, 7, first_at=1.0, begun=True, n_decoded=3, n_tokens=40, sampled=True, started_at=1.0)
EVENT = TaskEnded(5.0, 0, 7, "cancelled")


@pytest.mark.parametrize("seen_first", [False, True])
@pytest.mark.parametrize(("started_at", "seconds"), [(None, 5.0), (2.0, 3.0)])
def test_what_the_event_leaves_open_is_taken_from_the_slot(
    seen_first: bool, started_at: float | None, seconds: float
) -> None:
    departures = Departures()
    if seen_first:
        departures.seen(TRACK, 6.0)
    departures.reported(EVENT, started_at)
    if not seen_first:
        departures.seen(TRACK, 6.0)
    (known,) = departures.latest()
    assert (known.event.reason, known.seconds, known.sampled, known.n_tokens) == ("cancelled", seconds, True, 40)


def test_another_task_of_the_same_slot_is_another_departure() -> None:
    departures = Departures()
    departures.reported(EVENT, None)
    departures.reported(TaskEnded(6.0, 0, 8, "limit", n_decoded=0), 4.0)
    assert departures.latest()[1:] == [Departure(TaskEnded(6.0, 0, 8, "limit", n_decoded=0), 2.0, sampled=False)]
