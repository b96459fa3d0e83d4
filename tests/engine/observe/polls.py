"""Snapshots for tests, written as briefly as a /slots poll."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from slotview.engine.events import Event
from slotview.engine.observe.observation import Observation
from slotview.engine.observe.observer import Observer
from slotview.engine.snapshot import (
    Health,
    HealthState,
    KvPool,
    PollView,
    ServerFacts,
    SlotState,
    SlotView,
    Snapshot,
    WaitingView,
)

LIVE = Health(HealthState.OK)
POLL = PollView(interval=1.0)


def generating(slot: int, task: int, n_decoded: int | None, **fields: Any) -> SlotView:
    fields.setdefault("n_ctx", 2048)
    return SlotView(slot, SlotState.GENERATING, task=task, n_decoded=n_decoded, **fields)


def prefilling(slot: int, task: int, n_processed: int | None, **fields: Any) -> SlotView:
    fields.setdefault("n_ctx", 65536)
    fields.setdefault("n_decoded", 0)
    return SlotView(slot, SlotState.PROMPT, task=task, n_prompt_processed=n_processed, **fields)


def idle(slot: int, task: int | None = None, **fields: Any) -> SlotView:
    fields.setdefault("n_ctx", 2048)
    return SlotView(slot, SlotState.UNUSED if task is None else SlotState.IDLE, task=task, **fields)


def look(at: float, *slots: SlotView, seen_at: float | None = None, **fields: Any) -> Snapshot:
    """A look at ``at`` at slots that were so at ``seen_at`` (the same time where not given)."""
    fields.setdefault("facts", ServerFacts(source="http://host:8080"))
    fields.setdefault("health", LIVE)
    fields.setdefault("poll", POLL)
    waiting = fields.pop("waiting", None)
    view = waiting if isinstance(waiting, WaitingView) else WaitingView(count=waiting)
    return Snapshot(
        time=at, serial=int(at * 1000), slots=slots, slots_at=at if seen_at is None else seen_at, waiting=view, **fields
    )


def pool(active: int, cached: int = 0, cells: int | None = None, **fields: Any) -> KvPool:
    return KvPool(active=active, cached=cached, cells=cells, **fields)


def watch(snapshots: Iterable[Snapshot], observer: Observer | None = None) -> Observation:
    """Observe all; return the last observation."""
    observer = observer or Observer()
    seen = [observer.observe(snapshot) for snapshot in snapshots]
    return seen[-1]


def watch_all(snapshots: Iterable[tuple[Snapshot, Sequence[Event]]]) -> list[Observation]:
    observer = Observer()
    return [observer.observe(snapshot, events) for snapshot, events in snapshots]


def from_slots(body: list[dict[str, Any]]) -> Iterator[SlotView]:
    """The slots of a /slots answer of b11434, as its values say."""
    for slot in body:
        told = slot.get("next_token") or [{}]
        busy = slot["is_processing"]
        decoded = told[0].get("n_decoded")
        state = SlotState.IDLE if "id_task" in slot else SlotState.UNUSED
        if busy:
            state = SlotState.GENERATING if decoded else SlotState.PROMPT
        yield SlotView(
            slot["id"],
            state,
            n_ctx=slot.get("n_ctx"),
            task=slot.get("id_task"),
            n_tokens=slot.get("n_prompt_tokens"),
            n_prompt_processed=slot.get("n_prompt_tokens_processed"),
            n_prompt_cached=slot.get("n_prompt_tokens_cache"),
            n_decoded=decoded if busy else None,
            n_remain=told[0].get("n_remain") if busy else None,
            unlimited=busy and told[0].get("n_remain") == -1,
        )
