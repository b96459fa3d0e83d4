"""Whether a server elsewhere works: a word, a line, and a piece of advice."""

from __future__ import annotations

import re

from slotview.engine.snapshot import EndpointState, Health, HealthState

from ..http.answer import Fault
from ..http.credentials import NOBODY, Credentials
from ..knowledge.endpoint import Endpoint, Route, ServerKind
from ..knowledge.known import AUGUST_2026, UNFIT, Known
from ..knowledge.silence import lives_beside, pulse_of, queued_of, silent_since
from ..read.errors import Refusal
from ..read.models import AT_PEER, FAILED
from .key import key_wanted
from .link import not_answering, unreachable

__all__ = ["judge"]

_FRESH = 2.0  # seconds that the answer of a cache may be old
_LATELY = 10.0  # seconds
_IN_A_ROW = 4  # times that a proxy refuses whose server is gone
_SWITCH = re.compile(r"start it (with(?:out)?) `(--[\w-]+)`", re.IGNORECASE)
_PROXY_ADVICE = "is there a proxy in between?"
_LIMIT_ADVICE = "does a proxy limit requests (use --interval 10), or is one of the servers behind it down?"
_PATH_ADVICE = "check the port, and the path before /slots if it has one"
_ON_THE_WAY = {"loading": "loaded", "starting": "loaded", "downloading": "downloaded"}


def judge(known: Known, host: str, *, credentials: Credentials = NOBODY, now: float) -> Health:
    """Say how the server is; `Health.since` is set if it is known when trouble began."""
    if known.link.up is None:
        waited = now - (known.endpoints[Route.PROPS].asked_at or now)
        return Health(HealthState.CONNECTING, f"no answer yet for {waited:.0f} s" if waited > 1 else f"asking {host}")
    if known.link.up is False:
        return unreachable(known.link, host, now)
    if silent_since(known, now) is not None:
        return not_answering(silent_since(known, now), now)
    if known.turns.are_taken(now):
        advice = "attach to each of them at its own address, not through the load balancer"
        return Health(HealthState.ERROR, "several servers answer here in turn: no two answers belong together", advice)
    if known.is_proxied and (known.chosen is None or not known.is_ready):
        return _unchosen(known, credentials)
    return _of_props(known, credentials, now) or _of_slots(known, now)


def _unchosen(known: Known, given: Credentials) -> Health:
    kind = "router" if known.kind is ServerKind.ROUTER else "llama-swap"
    listed = known.endpoints[Route.MODELS]
    is_unread = listed.state is EndpointState.UNKNOWN and known.entry is None  # the running ones are not all there are
    if is_unread or (not known.models and listed.state is not EndpointState.OK):
        return _unlisted(kind, listed, known, given)
    if known.chosen is None:
        count = len(known.models)
        text = f"{kind} with {count} model{'' if count == 1 else 's'}, none chosen"
        return Health(HealthState.ROUTER, text, "choose one in the list, or start with --model NAME")
    entry = known.entry
    if entry is None:
        return Health(HealthState.ROUTER, f"the {kind} has no model {known.chosen}", "choose one that is in its list")
    if entry.state in _ON_THE_WAY:
        text = f"{known.chosen} is being {_ON_THE_WAY[entry.state]}"
        return Health(HealthState.LOADING, text, "its slots appear by themselves")
    if entry.state == AT_PEER:
        text = f"{known.chosen} is at a peer of the {kind}, which shows none of its slots"
        return Health(HealthState.ROUTER, text, "attach to the peer itself")
    if entry.state == FAILED:  # also said of one that was unloaded while it worked, or by a build of early 2026
        text = f"{known.chosen} is not loaded, and the {kind} says that it failed"
        return Health(HealthState.ROUTER, text, f"see the log of the {kind}; it tries again at a request")
    if not entry.state:
        text = f"the {kind} does not say whether {known.chosen} is loaded"
        return Health(HealthState.ROUTER, text, "not asked, since that might load it")
    text = f"{known.chosen} is {entry.state}"
    return Health(HealthState.ROUTER, text, f"not asked, since that would load it; the {kind} does so at a request")


def _unlisted(kind: str, listed: Endpoint, known: Known, given: Credentials) -> Health:
    """The list of models has not been read, so it is unknown how many there are."""
    if listed.state is EndpointState.UNKNOWN:
        return Health(HealthState.CONNECTING, f"asking the {kind} for its models")
    if listed.state is EndpointState.KEY:
        return key_wanted(known, given)
    return Health(HealthState.ERROR, f"the {kind} does not list its models: {listed.said}", _PROXY_ADVICE)


def _of_props(known: Known, given: Credentials, now: float) -> Health | None:
    """The verdict, if /props and /health decide it without the slots."""
    props, health = known.endpoints[Route.PROPS], known.endpoints[Route.HEALTH]
    if known.is_foreign:
        return _foreign(known)
    if known.asleep:
        advice = "press r to look; that loads it again"
        return Health(HealthState.ASLEEP, "the model is unloaded", advice)
    slots, running = known.state(Route.SLOTS), known.state(Route.RUNNING)
    if props.state is EndpointState.KEY and slots in (EndpointState.OK, EndpointState.UNKNOWN):
        return None  # the slots may be open, or say the same
    if EndpointState.KEY in (props.state, slots) or (running is EndpointState.KEY and slots is not EndpointState.OK):
        return key_wanted(known, given)
    others = health.state if props.state is EndpointState.ABSENT else None  # until March 2024 they came after the model
    if EndpointState.LOADING in (props.state, slots, others):
        return Health(HealthState.LOADING, "the model is being loaded", "the slots appear by themselves")
    if props.state is EndpointState.NO_ANSWER and props.refusal is not None:
        return _of_proxy(known, props, props.refusal, now)
    if known.health is not None and known.health.failed and health.state is not EndpointState.UNKNOWN:
        return Health(HealthState.ERROR, "the server reports an error", "see its log")
    return None


def _of_proxy(known: Known, props: Endpoint, refusal: Refusal, now: float) -> Health | None:
    """The verdict if a proxy refuses /props in place of the server; None if it lets other questions through."""
    if refusal.status == 429:
        return _too_often(refusal)
    if _answers_between(known, now):
        return None
    text = f"no answer from the server behind the proxy ({refusal.told})"
    return Health(HealthState.NO_ANSWER, text, "is llama-server running behind it?", props.asked_at)


def _foreign(known: Known) -> Health:
    """Quote what it says. Only the user may follow a redirect, since it may lead to another machine."""
    props, health = known.endpoints[Route.PROPS], known.endpoints[Route.HEALTH]
    said = props.said or health.note or "something else"
    if props.refusal is not None and props.refusal.is_own_word:
        text = f"a llama-server answers, but has nothing under this path ({said})"
        return Health(HealthState.FOREIGN, text, "check the path before /slots, and how a proxy on the way rewrites it")
    advice = _foreign_advice(props.refusal)
    return Health(HealthState.FOREIGN, f"this is not a llama-server: it answers with {said}", advice)


def _foreign_advice(refusal: Refusal | None) -> str:
    if refusal is None:
        return _PATH_ADVICE
    if refusal.status < 400:
        return "attach to that address, or with the key or password it wants"
    if refusal.wants_tls:
        return "give https:// in place of http://"
    if refusal.wants_certificate:
        return "a proxy wants a client certificate, which slotview does not send: attach behind it"
    return _PATH_ADVICE


def _of_slots(known: Known, now: float) -> Health:
    slots = known.endpoints[Route.SLOTS]
    late = (queued_of(known) or slots) if known.is_older else slots
    waited = late.waiting_for(now) if lives_beside(known, late) else 0.0
    if waited > max(known.patience.slow, 2 * known.cadence.interval):
        return _arriving(known, waited) if late.arriving else _stalled(known, now - waited, now, late.name)
    if slots.state is EndpointState.NO_ANSWER:
        since = now if slots.answered_at is None else slots.answered_at
        timed_out = slots.fault is Fault.TIMEOUT or (slots.refusal is not None and slots.refusal.status == 504)
        return _stalled(known, since, now) if timed_out else _unanswered(slots, since)
    if slots.state is EndpointState.OK:
        return _kept(slots.age) if slots.age > _FRESH else Health(HealthState.OK, slots.note)
    if slots.state is EndpointState.OFF:
        return _without_slots(known, "the server runs without its slots view", _off_advice(slots))
    if slots.state is EndpointState.ABSENT:
        return _without_slots(known, "the server has no /slots", _absent_advice(known))
    if slots.state is EndpointState.TOO_LARGE:
        text = f"{slots.note}: asked every {known.cadence.gap:.0f} s only"
        return Health(HealthState.ERROR, text, "start the server without LLAMA_SERVER_SLOTS_DEBUG")
    if slots.state is EndpointState.BAD:
        return _unreadable(known, slots)
    return Health(HealthState.CONNECTING, "asking for the slots")


def _unreadable(known: Known, slots: Endpoint) -> Health:
    """/slots answers with an error, or with what is not about slots."""
    if known.kind is ServerKind.ROUTER and slots.refusal is not None and "proxy error" in slots.refusal.message:
        text = f"the router does not reach the server of {known.chosen} ({slots.said})"
        return Health(HealthState.ERROR, text, "it is being stopped, or has ended: see the log of the router")
    text = f"/slots: {slots.said}" if slots.refusal else f"/slots is unreadable: {slots.said}"
    return Health(HealthState.ERROR, text, _PROXY_ADVICE)


def _arriving(known: Known, waited: float) -> Health:
    """The server has answered; the answer is slow to arrive, which is not the server's fault."""
    state = HealthState.CONNECTING if known.slots is None else HealthState.OK
    advice = "a slow connection, or a large answer: LLAMA_SERVER_SLOTS_DEBUG sends all prompts with it"
    return Health(state, f"an answer from /slots has been arriving for {waited:.0f} s", advice)


def _unanswered(slots: Endpoint, since: float) -> Health:
    """A proxy refused, or the connection broke, which says nothing about the server's main loop."""
    if slots.refusal is not None and slots.refusal.status == 429:
        return _too_often(slots.refusal)
    is_limit = slots.refusal is not None and slots.refusal.status == 503
    advice = _LIMIT_ADVICE if is_limit else _PROXY_ADVICE
    return Health(HealthState.ERROR, f"/slots: {slots.said}", advice, since)


def _answers_between(known: Known, now: float) -> bool:
    """Whether a proxy refuses some questions only, as one does that limits them or has lost one of several servers."""
    answered = [end.answered_at for end in known.endpoints.values() if end.answered_at is not None]
    return known.n_refused < _IN_A_ROW and bool(answered) and now - max(answered) < _LATELY


def _kept(age: float) -> Health:
    """A cache answers, and may do so for long after the server ended."""
    state = HealthState.OK if age < _LATELY else HealthState.ERROR
    text = f"a cache on the way answers in place of the server, with what it said {age:.0f} s ago"
    return Health(state, text, "let the cache pass /slots, /metrics, /props and /health on")


def _too_often(refusal: Refusal) -> Health:
    """A proxy limits questions; llama-server itself does not."""
    return Health(HealthState.ERROR, f"asked too often ({refusal.told})", "a proxy limits requests: use --interval 10")


def _stalled(known: Known, since: float, now: float, silent: Route = Route.SLOTS) -> Health:
    """/health answers, /slots does not. Only builds that answer during a decode can be called stuck."""
    seconds = now - since
    if known.build_number is not None and known.build_number >= AUGUST_2026:
        text = f"alive but not scheduling for {seconds:.0f} s"
        return Health(HealthState.STALLED, text, "if it stays so, only a restart of the server helps", since)
    text = f"no answer from /{silent} for {seconds:.0f} s while /{pulse_of(known)} answers: a long prompt, or stuck"
    return Health(HealthState.STALLED, text, "builds before August 2026 answer only between two batches", since)


def _without_slots(known: Known, why: str, advice: str) -> Health:
    """The verdict if there are no slots; there may still be counters."""
    metrics = known.state(Route.METRICS)
    if metrics is EndpointState.OK:
        return Health(HealthState.OK, f"{why}: only /metrics is shown", advice)
    if metrics is EndpointState.UNKNOWN and known.cadence.metrics_every != 0:
        return Health(HealthState.CONNECTING, f"{why}; asking /metrics")
    if metrics is EndpointState.OFF and known.state(Route.SLOTS) is EndpointState.OFF:
        text = f"{why} and without --metrics"
        return Health(HealthState.NOTHING, f"reachable, but nothing to monitor: {text}", advice)
    if metrics in UNFIT:
        return Health(HealthState.NOTHING, f"reachable, but nothing to monitor: {why}, nor /metrics", advice)
    return Health(HealthState.NOTHING, f"reachable, but nothing to monitor: {why}", advice)


def _off_advice(slots: Endpoint) -> str:
    """The switch that the server itself names; from April to August 2024 it named none."""
    if slots.refusal is None:  # so said /props
        return "start the server without --no-slots"
    named = _SWITCH.search(slots.refusal.message)
    return f"start the server {named[1]} {named[2]}" if named else "start the server without --slots-endpoint-disable"


def _absent_advice(known: Known) -> str:
    if known.props is not None and known.props.oldest:
        return "built before February 2024; those of 2023 also refuse requests when all slots are busy: none waits"
    if known.props is not None and known.props.n_slots:
        return "a proxy hides it, or a server of early 2024 was started with --slots-endpoint-disable"
    return "a server built before February 2024, or another one; check the path before /slots"
