"""What a number on the screen means, in one short line of plain English (at most 78 characters)."""

from __future__ import annotations

from ..context import MAX_SLOTS
from ..snapshot import HealthState, KvPool, SlotState, SlotView, Snapshot, Totals, WaitingView
from ..text.plural import plural
from .words import count, percent

__all__ = [
    "AS_LAST_REPORTED",
    "busy_meaning",
    "pool_meaning",
    "prefill_share",
    "request_speed_meaning",
    "slots_unknown",
    "unseen_meaning",
    "waiting_meaning",
]

AS_LAST_REPORTED = "as last reported"
"""Stands for a meaning beside numbers that are old."""

NEAR_ONE = 1.3
NEAR_ALL = 0.85  # share of the slots


def busy_meaning(busy: int | None, n_slots: int | None, average: float | None, waiting: int | None) -> str:
    """What busy slots say about concurrency. ``average``: busy slots per decode, as counted by the server."""
    if busy is None or not n_slots:
        return "the server does not show its slots"
    if average is not None and average <= NEAR_ONE and waiting and n_slots > 1 and busy < n_slots:
        return "near 1 while requests wait: concurrency is not the bottleneck"
    if n_slots >= MAX_SLOTS and waiting and busy >= n_slots:
        return f"all busy and requests wait: more than {MAX_SLOTS} slots there cannot be"
    if busy >= n_slots and waiting:
        return "all busy and requests wait: more slots would help while memory lasts"
    if waiting:
        return f"{plural(n_slots - busy, 'slot')} free, yet requests wait"
    if average is not None and average >= NEAR_ALL * n_slots and 1 < n_slots < MAX_SLOTS:
        return "near the slot count: if requests wait, more slots help while memory lasts"
    if busy == 0:
        return "all slots idle"
    if busy >= n_slots:
        return "all slots busy" + (", the queue is empty" if waiting == 0 else "")
    return f"{plural(n_slots - busy, 'slot')} free: a new request starts at once"


def unseen_meaning(busy: int, n_slots: int | None, n_unseen: int) -> str:
    """What busy slots say while requests have been sent that the engine has not looked at yet."""
    free = max(0, (n_slots or 0) - busy)
    slots = f"{plural(free, 'slot')} free" if free else "all slots busy"
    return f"{slots}; {plural(n_unseen, 'new request')} {'is' if n_unseen == 1 else 'are'} seen after this step"


def slots_unknown(snapshot: Snapshot) -> str:
    """Why it is not known how many slots are busy: the server does not report them, or not all, or has not yet."""
    if snapshot.slots:
        n = sum(slot.state is SlotState.UNKNOWN for slot in snapshot.slots)
        return f"not known: whether {plural(n, 'slot')} {'is' if n == 1 else 'are'} busy is not reported"
    note = next((view.note for path, view in snapshot.facts.endpoints.items() if "slots" in path), "")
    state = snapshot.health.state
    if note and state is not HealthState.KEY:  # it calls the key invalid, even if none was given
        return note
    if state is HealthState.OK:
        return "the server does not show its slots"
    return f"not known: {snapshot.health.message if state is HealthState.ROUTER else state.value}"


def waiting_meaning(waiting: WaitingView, busy: int | None, n_slots: int | None, batching: str | None = None) -> str:
    """What the number of waiting requests says; an unknown number is not the same as 0."""
    if waiting.count is None:
        return waiting.why or "unknown (server started without --metrics)"
    if waiting.why is not None:
        return waiting.why
    if waiting.requests and all(request.kind != "completion" for request in waiting.requests):
        return "slot actions wait for a busy slot; no request waits"
    if waiting.count == 0:
        return "the queue is empty"
    if batching == "static":
        return "until the batch has ended"
    if busy is not None and n_slots and busy < n_slots:
        return "requests wait beside an idle slot: one may be pinned to a busy slot"
    if waiting.requests is None:
        return "no endpoint says who"
    if any(request.id_slot is not None for request in waiting.requests):
        return "for its slot" if waiting.count == 1 else "each for a slot it may use"
    return "for the next free slot" if waiting.count == 1 else "each for the next free slot"


def pool_meaning(pool: KvPool) -> str:
    """What fills the cells, and how much of it can be reclaimed."""
    if pool.cells is None:
        return pool.why or _unknown_size(pool)
    if pool.active is None or pool.cached is None or pool.free is None:
        return pool.why or f"{count(pool.cells)} cells; what they hold is not reported"
    if pool.unified is False:
        return "split: a full slot stops alone, the others go on"
    if pool.active >= 0.9 * pool.cells:
        return f"{percent(pool.active / pool.cells)} active: when it is full, all running requests end"
    if pool.cached and pool.free < 0.1 * pool.cells:
        return f"{count(pool.cached)} cached in idle slots are dropped when room is needed"
    return f"{count(pool.free + pool.cached)} cells can still be used"


def _unknown_size(pool: KvPool) -> str:
    if pool.candidates:
        return f"pool size unknown ({' or '.join(count(size) for size in sorted(pool.candidates))})"
    return "pool size unknown: no endpoint reports it"


def prefill_share(slot: SlotView) -> float | None:
    """How much of the prompt is done, 0 to 1; None if its length is unknown, as /slots does not report it."""
    if not slot.n_prompt or slot.n_prompt < 0 or slot.n_prompt_processed is None:
        return None
    done = slot.n_prompt_processed + (slot.n_prompt_cached or 0)
    return min(1.0, max(0.0, done / slot.n_prompt))


def request_speed_meaning(totals: Totals) -> str:
    """The average speed of a request since the server started. The slots' seconds add up, so this is no total."""
    tokens, seconds = totals.predicted_tokens, totals.predicted_seconds
    if not tokens or not seconds:
        return ""
    return f"{tokens / seconds:.1f} tok/s per request since it started"
