"""Who answers a server's questions, and who has been silent for how long."""

from __future__ import annotations

from slotview.engine.snapshot import EndpointState

from .endpoint import DIRECT, QUEUED, Endpoint, Route, ServerKind
from .known import Known

__all__ = ["heard_since", "is_overdue", "lives_beside", "probe_of", "pulse_of", "queued_of", "silent_since"]


def heard_since(known: Known, when: float, names: tuple[Route, ...] = tuple(Route)) -> bool:
    """Whether anything came back from one of the endpoints after that time."""
    return any((known.endpoints[name].heard_at or 0.0) > when for name in names)


def lives_beside(known: Known, end: Endpoint) -> bool:
    """Whether some HTTP thread has answered since ``end`` was asked."""
    return heard_since(known, end.asked_at or 0.0, DIRECT)


def probe_of(known: Known) -> Route:
    """What to ask a server that is gone: /health, unless only /props ever answered."""
    only_props = known.endpoints[Route.HEALTH].heard_at is None and known.endpoints[Route.PROPS].heard_at is not None
    return Route.PROPS if only_props else Route.HEALTH


def pulse_of(known: Known) -> Route:
    """What shows that a server lives whose main loop is at work: /health, or /props of a server that may be old.

    From February to August 2024 /health counted the slots: it waited as /slots does, with an HTTP thread. Builds of
    then do not name themselves, and only they hide /props, but not /slots, behind the key.
    """
    if known.kind is not ServerKind.SERVER and known.state(Route.PROPS) is not EndpointState.KEY:
        return Route.HEALTH
    is_old = known.slots is not None if known.props is None else known.props.build is None
    return Route.PROPS if is_old else Route.HEALTH


def silent_since(known: Known, now: float) -> float | None:
    """Since when a question that any HTTP thread answers at once has been open; None where none is overdue."""
    waits = Route.HEALTH if pulse_of(known) is Route.PROPS else None
    direct = [end for name, end in known.endpoints.items() if name in DIRECT and name is not waits]
    late = [end for end in direct if _is_late(known, end, now)]
    since = [end.asked_at for end in (*late, queued_of(known)) if end is not None and end.asked_at is not None]
    return min(since) if late else None


def _is_late(known: Known, end: Endpoint, now: float) -> bool:
    """Whether ``end`` has been silent for long, and nobody else answered meanwhile."""
    begin = end.settled_at if end.is_mute and end.open else end.asked_at
    is_silent = (end.open or end.is_mute) and end.since_asked(now) > _longest_silence(known)
    return is_silent and begin is not None and not heard_since(known, begin)


def _longest_silence(known: Known) -> float:
    """Seconds after which silence says something: on a slow line, twice of what an answer takes there."""
    return max(known.patience.overdue, *(2 * known.endpoints[route].lag for route in DIRECT))


def queued_of(known: Known) -> Endpoint | None:
    """The open question that waits behind the server's main loop; there is at most one."""
    return next((known.endpoints[name] for name in QUEUED if known.endpoints[name].open), None)


def is_overdue(known: Known, now: float) -> bool:
    """Whether time alone changes the verdict: some question has been open for long, or the server is gone."""
    overdue = known.patience.overdue
    return known.link.up is not True or any(end.waiting_for(now) > overdue for end in known.endpoints.values())
