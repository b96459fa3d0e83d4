"""Moments to show in tests: the same slots, requests and numbers every time."""

from __future__ import annotations

from msgspec.structs import replace

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

FACTS = ServerFacts(
    source="embedded",
    model="slotview-1m",
    n_params=1_300_000,
    n_ctx_train=8192,
    n_slots=4,
    n_ctx=8192,
    n_ctx_slot=2048,
    unified=False,
    type_k="f16",
    type_v="f16",
)

BUSY_SLOTS = (
    SlotView(0, SlotState.GENERATING, 2048, 11, 312, 280, 280, 0, 32, 32, generation_seconds=2.0, started_at=95.0),
    SlotView(1, SlotState.GENERATING, 2048, 12, 190, 150, 30, 120, 40, 24, generation_seconds=2.5, started_at=95.0),
    SlotView(2, SlotState.PROMPT, 2048, 13, 512, 1400, 512, 0, 0, None, started_at=98.0),
    SlotView(3, SlotState.GENERATING, 2048, 14, 77, 60, 60, 0, 17, None, True, started_at=96.0),
)

WORKING = Snapshot(
    time=100.0,
    serial=1,
    facts=FACTS,
    health=Health(HealthState.OK),
    slots=BUSY_SLOTS,
    slots_at=100.0,
    waiting=WaitingView(
        4,
        (
            WaitingRequest(15, 20, None, 96.0),
            WaitingRequest(16, 20, 1, 96.0),
            WaitingRequest(17, 20, None, 96.5),
            WaitingRequest(18, 20, None, 97.0),
        ),
    ),
    pool=KvPool(False, 8192, active=1091, cached=0, n_bytes=6_291_456),
    totals=Totals(prompt_tokens=1000.0, predicted_tokens=500.0, decodes=200.0, busy_per_decode=3.2, processing=4),
    pace=PaceView("m4-9b"),
)

IDLE = replace(
    WORKING,
    slots=tuple(SlotView(number, SlotState.UNUSED, 2048) for number in range(4)),
    waiting=WaitingView(0, ()),
    pool=KvPool(False, 8192, active=0, cached=0),
)

REMOTE = replace(
    WORKING,
    facts=replace(FACTS, source="http://127.0.0.1:8080", model="qwen[red]3.gguf", n_ctx=None, unified=None),
    waiting=WaitingView(None, None, "server started without --metrics"),
    pool=KvPool(None, None, (8192, 2048), 1091, 0, estimated=True, why="no endpoint tells the pool's size"),
    totals=Totals(),
    pace=None,
    poll=PollView(1.0),
)

GONE = replace(
    REMOTE,
    time=137.0,
    health=Health(HealthState.REFUSED, "connection refused", "start the server, or check the port", 100.0),
)

ROUTER = replace(
    REMOTE,
    facts=replace(REMOTE.facts, models=(("qwen3-8b", "loaded"), ("llama-[b]3", "unloaded"))),
    health=Health(HealthState.ROUTER, "no model chosen", "press m to choose one"),
    slots=None,
    slots_at=None,
)


def many(n_slots: int) -> Snapshot:
    """A snapshot with as many slots as wanted, all busy."""
    slots = tuple(replace(BUSY_SLOTS[number % 4], id=number, task=100 + number) for number in range(n_slots))
    return replace(WORKING, slots=slots, facts=replace(FACTS, n_slots=n_slots))
