"""When to ask which endpoint: rules about what is known, such that watching does not change what is watched."""

from __future__ import annotations

from collections.abc import Iterable

from slotview.engine.snapshot import EndpointState

from ..knowledge.endpoint import Endpoint, Route, ServerKind
from ..knowledge.known import UNFIT, Known
from ..knowledge.silence import heard_since, lives_beside, probe_of, pulse_of, queued_of

__all__ = ["due", "next_question"]

_KEY_RETRY = 15.0
_RARELY = 60.0
_HALF_A_MINUTE = 30.0
_SILENT = (EndpointState.NO_ANSWER, EndpointState.REFUSED)
_GONE = (EndpointState.OFF, EndpointState.ABSENT)
_NEVER = float("inf")


def next_question(known: Known, names: Iterable[Route], now: float) -> tuple[Route | None, float]:
    """The endpoint of ``names`` to ask now; or None, and when to check again."""
    times = [(due(known, name, now), name) for name in names if not known.endpoints[name].open]
    ready = next((name for when, name in times if when <= now), None)
    return ready, now if ready else min((when for when, _ in times), default=_NEVER)


def due(known: Known, name: Route, now: float) -> float:
    """When to ask an endpoint; infinite = not until something else is known."""
    if known.link.up is False:
        return known.link.retry_at if name is probe_of(known) else _NEVER
    rest = max(end.rests_until for end in known.endpoints.values())
    if rest > now:
        return rest  # who limits questions counts those to all endpoints
    rule = {
        Route.PROPS: _props,
        Route.HEALTH: _health,
        Route.RUNNING: _running,
        Route.MODELS: _models,
        Route.SLOTS: _slots,
        Route.METRICS: _metrics,
    }[name]
    when = rule(known, known.endpoints[name], now)
    return _NEVER if _may_load(known, name, when, now) else when


def _may_load(known: Known, name: Route, when: float, now: float) -> bool:
    """Whether llama-swap, which unloads idle models, would load one again to answer: ask it first which are running."""
    if known.kind is not ServerKind.SWAP or name not in (Route.PROPS, Route.SLOTS) or when > now:
        return False
    is_idle = known.slots is not None and not known.has_work and known.state(Route.SLOTS) is EndpointState.OK
    running = known.endpoints[Route.RUNNING].settled_at
    return is_idle and not known.look_wanted and (running is None or running < when)


def _again(end: Endpoint, seconds: float) -> float:
    """That many seconds after it was last asked; at once if it never was."""
    return -_NEVER if end.asked_at is None else end.asked_at + seconds


def _props(known: Known, end: Endpoint, now: float) -> float:
    """/props: first of all, before each look at idle slots, and while the model sleeps."""
    if not known.is_ready:
        return _NEVER
    if known.restart_suspected or end.state is EndpointState.UNKNOWN or _is_to_be_told_apart(known):
        return now
    if end.state is EndpointState.KEY:
        return _again(end, _KEY_RETRY)
    if end.is_mute and end.settled_at is not None:
        return end.settled_at + (1.0 if _is_in_doubt(known, end) else _RARELY)
    if _is_in_doubt(known, known.endpoints[Route.HEALTH]):
        return _again(end, 1.0)
    if end.state in (EndpointState.LOADING, *_SILENT):
        return _again(end, 1.0)
    if end.state in UNFIT:
        return _again(end, 5.0 if known.is_foreign else _RARELY)
    if (sign := _sign_of_life(known, end)) < _NEVER:
        return sign
    return _props_of_sleeper(known, end, now) if known.may_sleep else _now_and_then(known, end)


def _is_to_be_told_apart(known: Known) -> bool:
    """Whether /props is asked once more before anything else, as two servers may take turns."""
    return known.turns.wants_another and known.state(Route.PROPS) is EndpointState.OK


def _now_and_then(known: Known, end: Endpoint) -> float:
    """Once a minute, but not through llama-swap, since each question restarts its idle timer."""
    return _NEVER if known.kind is ServerKind.SWAP else _again(end, _RARELY)


def _props_of_sleeper(known: Known, end: Endpoint, now: float) -> float:
    """Often enough to notice when the model falls asleep or wakes, and right before a look that could wake it."""
    interval = max(1.0, known.cadence.interval)
    if known.asleep:
        return _again(end, interval)
    if known.has_work or known.slots is None:
        return _now_and_then(known, end)
    regular = _NEVER if known.kind is ServerKind.SWAP else _again(end, 5 * interval if known.metrics_tell else interval)
    look = _look(known, known.endpoints[Route.SLOTS], now)
    return regular if look == _NEVER or _is_fresh(end, look) else min(look, regular)


def _is_fresh(props: Endpoint, look: float) -> bool:
    """Whether /props answered so shortly before the look that the model cannot have fallen asleep unseen."""
    return props.settled_at is not None and props.settled_at >= look - 0.5


def _health(known: Known, end: Endpoint, now: float) -> float:
    """/health: only if nothing else shows whether the server is alive."""
    if known.is_foreign:
        return _NEVER  # some ask their models whether they live, at a price
    gap = max(1.0, known.cadence.interval)
    slots, props = known.endpoints[Route.SLOTS], known.endpoints[Route.PROPS]
    if end.is_mute and not _is_in_doubt(known, end):
        return _again(end, _HALF_A_MINUTE)  # it waits for the main loop, with one of the few HTTP threads
    if (sign := _sign_of_life(known, end)) < _NEVER:
        return sign
    if props.is_silent:
        return _again(end, gap)
    if props.state in UNFIT:
        calm = slots.state is EndpointState.OK and end.settled_at is not None
        return _again(end, _RARELY if calm else 2 * gap)
    return _NEVER if _is_polled(known) else _again(end, 2 * gap)


def _sign_of_life(known: Known, end: Endpoint) -> float:
    """When to ask its pulse whether it lives: if a question waits for the main loop for long, or got no answer."""
    if pulse_of(known) is not end.name:
        return _NEVER
    regular = _again(end, max(1.0, known.cadence.interval))
    if any(_is_in_doubt(known, other) for other in known.endpoints.values()):
        return regular
    queued = queued_of(known)
    if queued is not None:
        return max(_again(queued, known.patience.pulse), regular)
    return regular if known.endpoints[Route.SLOTS].is_silent else _NEVER


def _is_in_doubt(known: Known, end: Endpoint) -> bool:
    """Whether an endpoint gave no answer, and no other one has answered since."""
    return end.is_mute and not heard_since(known, end.settled_at or 0.0)


def _is_polled(known: Known) -> bool:
    """Whether another endpoint is asked regularly and would show that the server is gone."""
    if known.asleep or known.is_proxied:
        return True
    props, slots, metrics = (known.endpoints[name] for name in (Route.PROPS, Route.SLOTS, Route.METRICS))
    if props.settled_at is None or props.state in (EndpointState.LOADING, EndpointState.KEY):
        return True
    return slots.state not in _GONE or (metrics.state is EndpointState.OK and known.cadence.metrics_every is None)


def _running(known: Known, end: Endpoint, now: float) -> float:
    """llama-swap's list: at the interval, and before each look; at anything else rarely, where /props says nothing."""
    if known.kind is ServerKind.SWAP:
        regular, look = _again(end, max(1.0, known.cadence.interval)), _look(known, known.endpoints[Route.SLOTS], now)
        return look if (end.settled_at or 0.0) < look < regular else regular
    if known.state(Route.PROPS) not in UNFIT:
        return _NEVER
    if end.settled_at is None:
        return now
    return _again(end, _RARELY if end.state is EndpointState.ABSENT else _KEY_RETRY)


def _models(known: Known, end: Endpoint, now: float) -> float:
    """/models: a router's list regularly; a server's own until it is read, for the sizes of its model."""
    if known.kind is ServerKind.ROUTER:
        return _again(end, max(2.0, known.cadence.interval))
    wanted = known.kind is ServerKind.SWAP or known.state(Route.SLOTS) is not EndpointState.UNKNOWN
    if not wanted or end.state is EndpointState.OK or known.state(Route.PROPS) is EndpointState.KEY or known.is_foreign:
        return _NEVER
    return now if end.settled_at is None else _again(end, _RARELY)


def _slots(known: Known, end: Endpoint, now: float) -> float:
    look = _look(known, end, now)
    guarded = known.may_sleep and not known.has_work and not known.look_wanted and known.slots is not None
    return _NEVER if guarded and not _is_fresh(known.endpoints[Route.PROPS], look) else look


def _look(known: Known, end: Endpoint, now: float) -> float:
    """When to look at the slots, regardless of what has to be asked before."""
    if not _may_look(known, end):
        return _NEVER
    if known.look_wanted or end.state is EndpointState.UNKNOWN:
        return now
    if end.state in _GONE:
        return _again(end, _RARELY)
    if end.state is EndpointState.KEY:
        return _again(end, _KEY_RETRY)
    if end.state is EndpointState.LOADING:
        return _again(end, 1.0)
    if end.state is EndpointState.BAD:
        return _again(end, max(5.0, known.cadence.gap))
    return _NEVER if known.holds else _again(end, known.cadence.gap)


def _may_look(known: Known, end: Endpoint) -> bool:
    """Whether asking /slots is useful and wakes no model."""
    if not known.is_ready or known.is_foreign or _is_gone(known, end) or (known.asleep and not known.look_wanted):
        return False
    if _is_to_be_told_apart(known):
        return False
    props = known.state(Route.PROPS)
    if props in UNFIT and known.kind is not ServerKind.SWAP:
        return all(known.endpoints[name].settled_at is not None for name in (Route.RUNNING, Route.HEALTH))
    if known.endpoints[Route.PROPS].is_mute:
        return lives_beside(known, known.endpoints[Route.PROPS])
    return props in (EndpointState.OK, EndpointState.OFF, EndpointState.KEY, *UNFIT)


def _metrics(known: Known, end: Endpoint, now: float) -> float:
    """/metrics: with each look at the slots while there is work, else between the looks."""
    slots = known.endpoints[Route.SLOTS]
    if known.cadence.metrics_every == 0 or not known.is_ready or known.is_foreign or _is_gone(known, end):
        return _NEVER
    if (known.asleep and not known.look_wanted) or slots.state is EndpointState.UNKNOWN:
        return _NEVER
    if end.state in (EndpointState.KEY, EndpointState.BAD, *_GONE):
        return _again(end, _RARELY)
    if end.is_mute:  # while it is open, the slots are not asked
        return _again(end, _HALF_A_MINUTE)
    return max(_again(end, known.cadence.metrics_every or 0.0), _metrics_beside(known, end, slots))


def _is_gone(known: Known, end: Endpoint) -> bool:
    """Whether an endpoint is not there for sure: /props says so, or it may not be tried again for llama-swap's timer.

    A single word of its own may be that of a proxy that was just being changed.
    """
    props = known.props
    told = props and {Route.SLOTS: props.has_slots, Route.METRICS: props.has_metrics}[end.name]
    return end.state in _GONE and (told is False or (known.kind is ServerKind.SWAP and known.slots is None))


def _metrics_beside(known: Known, end: Endpoint, slots: Endpoint) -> float:
    if slots.state is not EndpointState.OK:
        return _again(end, max(1.0, known.cadence.interval))
    if known.cadence.idle_gap is None or not known.metrics_tell:
        looked = -_NEVER if slots.settled_at is None else slots.settled_at
        return looked if looked > _again(end, 0.0) else _NEVER
    return max(_again(end, 0.0), _again(slots, 0.0)) + known.cadence.interval
