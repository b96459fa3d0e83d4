"""The snapshot of a server elsewhere, made from what is known about it."""

from __future__ import annotations

from math import inf
from types import MappingProxyType

from msgspec.structs import replace

from ..context import LaunchFlags, pad256
from ..pool_sums import possible_sizes, tokens_held
from ..snapshot import (
    EndpointState,
    Health,
    KvPool,
    PollView,
    ServerFacts,
    Snapshot,
    Totals,
    WaitingView,
)
from .knowledge.endpoint import Route, ServerKind
from .knowledge.known import Known
from .read.models import ModelEntry
from .read.props import file_name
from .retune import flags_of, total_context

__all__ = ["picture"]

_UNHEARD = "unknown (no answer so far)"
_UNREPORTED = "unknown (the slots have not been reported yet)"
_IN_TURN = "unknown (several servers answer in turn)"
_WHY_NOT_WAITING = {
    EndpointState.OFF: "unknown (server started without --metrics)",
    EndpointState.ABSENT: "unknown (this server has no /metrics)",
    EndpointState.KEY: "unknown (/metrics needs the API key)",
    EndpointState.BAD: "unknown (/metrics is unreadable)",
    EndpointState.NO_ANSWER: "unknown (/metrics does not answer)",
    EndpointState.LOADING: "unknown (the model is being loaded)",
    EndpointState.REFUSED: "unknown (the server refuses connections)",
}


def picture(known: Known, source: str, health: Health, now: float, serial: int) -> Snapshot:
    """Make a snapshot of what is known."""
    facts = _facts(known, source)
    if known.turns.are_taken(now):
        unknown = WaitingView(why=_IN_TURN)
        return Snapshot(now, serial, facts, health, waiting=unknown, pool=KvPool(why=_IN_TURN), poll=_poll(known, now))
    return Snapshot(
        time=now,
        serial=serial,
        facts=facts,
        health=health,
        slots=known.slots,
        slots_at=known.slots_at,
        waiting=_waiting(known),
        pool=_pool(known, facts),
        totals=_totals(known, facts.n_slots),
        poll=_poll(known, now),
    )


def _facts(known: Known, source: str) -> ServerFacts:
    props, entry = known.props, known.entry
    own = entry or next(iter(known.models), None) if not known.is_proxied else entry
    flags = flags_of(known)
    n_slots = len(known.slots) if known.slots else (props.n_slots if props else None) or _slots_of_flags(flags)
    return ServerFacts(
        source=source,
        model=(props.model if props else None) or _model_name(known, own),
        model_path=props.model_path if props else None,
        n_params=own.n_params if own else None,
        n_ctx_train=own.n_ctx_train if own else None,
        n_slots=n_slots if n_slots is not None else _slots_of_health(known),
        n_ctx=total_context(flags, own.n_ctx_train if own else None) if flags else None,
        n_ctx_slot=_limit_of_all(known),
        unified=_unified(known, flags),
        build=props.build if props else None,
        models=tuple((model.name, model.state) for model in known.models) if known.is_proxied else (),
        endpoints=MappingProxyType({name.value: end.view() for name, end in known.endpoints.items()}),
        run=props.marker if props else None,
    )


def _model_name(known: Known, own: ModelEntry | None) -> str | None:
    """What a list of models calls it: a server of its own says the path of its file there."""
    if own is None:
        return known.chosen
    return own.name if known.is_proxied else file_name(own.name)


def _unified(known: Known, flags: LaunchFlags | None) -> bool | None:
    """Known if a router reports the command line of its servers, or of a build with no choice: it counts its cells."""
    if flags is None:
        return None if known.totals.kv_ratio is None else False
    return flags.is_unified


def _slots_of_flags(flags: LaunchFlags | None) -> int | None:
    """The number of slots in the flags that a router reports; None if they leave it to the server."""
    return flags.parallel if flags is not None and flags.parallel > 0 else None


def _slots_of_health(known: Known) -> int | None:
    """Counts in /health, as in 2024."""
    health = known.health
    if health is None or health.idle is None or health.processing is None:
        return None
    return health.idle + health.processing


def _limit_of_all(known: Known) -> int | None:
    """The limit that all slots have in common; /props reports one, which counts only if the slots report none."""
    told = {slot.n_ctx for slot in known.slots or ()} - {None}
    if told:
        return told.pop() if len(told) == 1 else None
    return known.props.n_ctx_slot if known.props else None


def _waiting(known: Known) -> WaitingView:
    """The queue; while the server is gone, what was last reported stays, as the slots do."""
    state = known.state(Route.METRICS)
    if not known.link.was_up:
        return WaitingView(why=_UNHEARD)
    if not known.is_ready:
        return WaitingView(why=_why_not_ready(known))
    if known.cadence.metrics_every == 0:
        return WaitingView(why="unknown (/metrics is not asked: --metrics-every 0)")
    count = known.deferred
    is_kept = count is not None and (known.link.up is False or state is EndpointState.UNKNOWN)
    if state is EndpointState.OK or is_kept:
        age = f"{known.deferred_age:.0f} s older than the slots" if known.deferred_age else None
        return WaitingView(count, why=age if count is not None else "unknown (/metrics does not say)")
    if state is EndpointState.ABSENT and known.props is not None and known.props.n_slots:
        return WaitingView(why="unknown (no /metrics: perhaps started without --metrics)")
    refusal = known.endpoints[Route.METRICS].refusal
    if refusal is not None and refusal.is_of_proxy:
        return WaitingView(why=f"unknown (/metrics: {refusal.told})")
    return WaitingView(why=_WHY_NOT_WAITING.get(state, "unknown (not asked yet)"))


def _why_not_ready(known: Known) -> str:
    if known.chosen is None:
        return "unknown (no model chosen)"
    if known.entry is not None and not known.entry.state:
        return "unknown (nothing says whether the model is loaded)"
    return "unknown (the model is not loaded)" if known.entry is not None else "unknown (there is no such model)"


def _totals(known: Known, n_slots: int | None) -> Totals:
    """Counters, unless they are out of date, or count more slots than there are; in 2024, /health counted busy ones."""
    gone = (EndpointState.OFF, EndpointState.ABSENT, EndpointState.KEY, EndpointState.BAD)
    totals = Totals() if known.state(Route.METRICS) in gone else known.totals
    if totals.processing is None and known.health is not None:
        totals = replace(totals, processing=known.health.processing)
    return replace(
        totals,
        processing=None if (totals.processing or 0) > (n_slots or inf) else totals.processing,
        busy_per_decode=None if (totals.busy_per_decode or 0) > (n_slots or inf) else totals.busy_per_decode,
    )


def _pool(known: Known, facts: ServerFacts) -> KvPool:
    """Sums over the slots. No endpoint reports the size of the pool (spec §10.3), so there are only candidates."""
    slots = known.slots or ()
    active, cached = tokens_held(slots, busy=True), tokens_held(slots, busy=False)
    some_tell = any(slot.n_tokens is not None for slot in slots)
    are_unused = None not in (active, cached) and known.totals.kv_ratio is None
    told = bool(slots) and (some_tell or are_unused)
    candidates = _candidates(facts)
    cells = candidates[0] if len(candidates) == 1 else None
    return KvPool(
        unified=facts.unified,
        cells=cells,
        candidates=candidates,
        active=active if told else None,
        cached=cached if told else None,
        estimated=told,
        why=_why(known, told, candidates, cells, is_capped=_is_capped(facts)),
    )


def _candidates(facts: ServerFacts) -> tuple[int, ...]:
    """Pool sizes that fit the slots; only the true one if it is known."""
    if facts.n_ctx is not None and facts.n_ctx_slot is not None and facts.n_slots is not None:
        return (facts.n_ctx,)
    sizes = possible_sizes(facts.n_ctx_slot, facts.n_slots)
    if facts.unified is None or not sizes:
        return sizes
    return sizes[:1] if facts.unified else sizes[-1:]


def _is_capped(facts: ServerFacts) -> bool:
    """Whether a slot's limit may be less than its share of the pool: by the model, or by a size of its own (§2.1)."""
    limit = facts.n_ctx_slot
    return limit is not None and (limit == facts.n_ctx_train or limit != pad256(limit))


def _why(known: Known, told: bool, candidates: tuple[int, ...], cells: int | None, *, is_capped: bool) -> str | None:
    if known.props is None and known.slots is None:
        return _UNREPORTED if known.link.was_up else _UNHEARD
    ratio = known.totals.kv_ratio if known.state(Route.METRICS) is EndpointState.OK else None
    if ratio is not None and not told:
        of_cells = "its cells" if cells is None else f"its {cells:,} cells".replace(",", " ")
        return f"the server reports {min(ratio, 1.0):.0%} of {of_cells} used"
    if known.slots and not told:
        return "this server does not report the tokens of its slots"
    if cells is None and candidates:
        unified, split = (f"{number:,}".replace(",", " ") for number in candidates)
        more = ", or more" if is_capped else ""
        return f"{unified} if unified, {split} if split{more}: no endpoint says which"
    return None if cells is not None else "no endpoint reports it"


def _poll(known: Known, now: float) -> PollView:
    cadence = known.cadence
    return PollView(cadence.interval, cadence.idle_gap, _note(known, now))


def _note(known: Known, now: float) -> str:
    cadence, link = known.cadence, known.link
    if link.up is False:
        return f"asking again every {link.gap:.0f} s" if link.gap >= 1 else "asking again"
    if known.asleep or (known.chosen is not None and not known.is_ready):
        return "not polling"
    if (rest := max(end.rests_until for end in known.endpoints.values()) - now) > 1:
        is_asked = any(end.refusal is not None and end.refusal.pause for end in known.endpoints.values())
        return f"{'asked not to look' if is_asked else 'not asking again'} for {rest:.0f} s"
    if known.state(Route.SLOTS) is EndpointState.TOO_LARGE:
        return f"answer too large, looking every {cadence.gap:.0f} s"
    if known.holds and known.kind is ServerKind.SWAP:
        return "idle, not polling, so that llama-swap can unload the model"
    if known.holds:
        return "idle, not polling; /metrics will show when work begins"
    if cadence.idle_gap is not None and known.slots is not None:
        note = f"idle, looking every {cadence.gap:.0f} s"
        sleepless = cadence.at_cap and known.may_sleep
        return note + ", which keeps a server with a longer --sleep-idle-seconds awake" if sleepless else note
    return f"slow or large answers, looking every {cadence.gap:.1f} s" if cadence.is_slowed else ""
