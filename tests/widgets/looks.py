"""Looks that the widget tests share."""

from __future__ import annotations

from msgspec.structs import replace

from slotview.engine.observe.observation import Observation, Point, SlotRate
from slotview.engine.snapshot import (
    Health,
    HealthState,
    KvPool,
    PaceView,
    PollView,
    ServerFacts,
    SlotState,
    SlotView,
    Snapshot,
    Totals,
    WaitingRequest,
    WaitingView,
)
from slotview.widgets.look import Look

NOW = 100.0
FACTS = ServerFacts(
    source="embedded", model="slotview-1m", n_slots=4, n_ctx=8192, n_ctx_slot=2048, unified=False, n_params=1_300_000
)
REMOTE_FACTS = ServerFacts(source="http://127.0.0.1:8080", model="SmolLM2-135M-Instruct", n_slots=2, n_ctx_slot=65536)
SLOTS = (
    SlotView(0, SlotState.GENERATING, 2048, 12, 565, 500, 440, 60, 65, 135),
    SlotView(1, SlotState.PROMPT, 2048, 13, 512, 1024, 512, 0, 0, 64),
    SlotView(2, SlotState.GENERATING, 2048, 9, 1485, 1400, 1400, 0, 85, unlimited=True),
    SlotView(3, SlotState.IDLE, 2048, 7, 310),
)
WAITING = WaitingView(
    3,
    (
        WaitingRequest(14, 61, None, NOW - 3.2),
        WaitingRequest(15, 700, 0, NOW - 1.5),
        WaitingRequest(16, kind="erase", id_slot=2, since=NOW - 0.4),
    ),
)
RATES = {0: SlotRate(None, 12.3), 1: SlotRate(1900.0, None), 2: SlotRate(None, 11.9)}


def history(seconds: int = 110, break_at: int | None = None, unknown: range = range(0)) -> tuple[Point, ...]:
    """A point a second up to `NOW`, with a wave in it."""
    return tuple(_point(i, i == break_at, i in unknown, NOW - seconds + 1 + i) for i in range(seconds))


def _point(i: int, is_break: bool, is_unknown: bool, time: float) -> Point:
    if is_unknown:
        return Point(time, break_before=is_break)
    busy = min(4, i // 20)
    speed = 9.0 + (i * 7 % 5)
    return Point(
        time,
        busy=busy,
        waiting=max(0, 4 - abs(i - 70) // 8),
        prompt_rate=1900.0 if i % 30 < 3 else 0.0,
        generation_rate=speed * busy,
        pool_used=busy * 500,
        slots=(0, 1, 2, 3),
        slot_rates=tuple(speed if slot < busy else None for slot in range(4)),
        break_before=is_break,
    )


def snapshot(slots: tuple[SlotView, ...] | None = SLOTS, **changes: object) -> Snapshot:
    """The embedded engine with four slots at work."""
    made = Snapshot(
        time=NOW,
        facts=FACTS,
        health=Health(HealthState.OK),
        slots=slots,
        slots_at=NOW,
        waiting=WAITING,
        pool=KvPool(False, 8192, (), 2562, 310, n_bytes=25_165_824),
        totals=Totals(busy_per_decode=2.41),
        pace=PaceView("m4-9b"),
    )
    return replace(made, **changes)


def attached(slots: tuple[SlotView, ...] | None = SLOTS[:2], **changes: object) -> Snapshot:
    """A server elsewhere that tells neither its pool nor its queue."""
    made = snapshot(
        slots,
        facts=REMOTE_FACTS,
        pool=KvPool(None, None, (65536, 131072), 1077, 0, estimated=True),
        waiting=WaitingView(None, None, "server started without --metrics"),
        totals=Totals(),
        pace=None,
        poll=PollView(1.0),
    )
    return replace(made, **changes)


def look(of: Snapshot | None = None, **changes: object) -> Look:
    """A look with rates and a history."""
    made = Look(snapshot() if of is None else of, Observation(RATES, 1900.0, 24.2, history()))
    return replace(made, **changes)


def many(n: int) -> tuple[SlotView, ...]:
    """``n`` slots, every fifth one busy."""
    return tuple(
        SlotView(i, SlotState.GENERATING, 1024, 1000 + i, 40 + i, n_decoded=i, n_remain=900)
        if i % 5 == 0
        else SlotView(i, SlotState.UNUSED, 1024)
        for i in range(n)
    )
