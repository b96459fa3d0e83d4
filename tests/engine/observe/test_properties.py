"""Whatever snapshots come: no impossible rate, no unbounded memory, no crash."""

from __future__ import annotations

import gc
import math

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from slotview.engine.events import Event, PoolFull, TaskEnded, TaskStarted
from slotview.engine.observe.observation import Observation
from slotview.engine.observe.observer import Observer
from slotview.engine.snapshot import Health, HealthState, KvPool, SlotState, SlotView, Snapshot, Totals, WaitingView

from .polls import generating, idle, look

COUNTS = st.none() | st.integers(-5, 3000) | st.sampled_from([10**9, 10**18, 10**60])
SECONDS = st.none() | st.floats(0, 1e6)

slot_views = st.builds(
    SlotView,
    id=st.just(0),
    state=st.sampled_from(SlotState),
    n_ctx=COUNTS,
    task=st.none() | st.integers(-1, 6),
    n_tokens=COUNTS,
    n_prompt=COUNTS,
    n_prompt_processed=COUNTS,
    n_prompt_cached=COUNTS,
    n_decoded=COUNTS,
    n_remain=COUNTS,
    unlimited=st.booleans(),
    prompt_seconds=SECONDS,
    generation_seconds=SECONDS,
)


pools = st.builds(KvPool, unified=st.none() | st.booleans(), cells=COUNTS, active=COUNTS, cached=COUNTS)


@st.composite
def snapshots(draw: st.DrawFn, at: float) -> Snapshot:
    slots = draw(st.none() | st.lists(slot_views, max_size=3))
    named = None if slots is None else tuple(_renamed(slot, i) for i, slot in enumerate(slots))
    return Snapshot(
        time=at,
        serial=int(at * 10),
        health=Health(draw(st.sampled_from(HealthState))),
        slots=named,
        slots_at=draw(st.sampled_from([at, at - 0.5, max(0.0, at - 20), None])),
        waiting=WaitingView(draw(st.none() | st.integers(0, 9))),
        pool=KvPool(
            unified=draw(st.none() | st.booleans()), cells=draw(COUNTS), active=draw(COUNTS), cached=draw(COUNTS)
        ),
        totals=Totals(predicted_tokens=draw(st.none() | st.floats(0, 1e6)), busy_per_decode=draw(SECONDS)),
    )


def _renamed(slot: SlotView, number: int) -> SlotView:
    return replace(slot, id=number)


events = st.lists(
    st.builds(TaskEnded, time=st.floats(0, 50), slot=st.integers(0, 3), task=st.integers(-1, 6),
              reason=st.just("limit"), n_decoded=COUNTS, n_prompt=COUNTS, n_cached=COUNTS)
    | st.builds(TaskStarted, time=st.floats(0, 50), slot=st.integers(0, 3), task=st.integers(-1, 6), waited=SECONDS,
                n_prompt=COUNTS)
    | st.builds(PoolFull, time=st.floats(0, 50), n_tasks=st.integers(0, 4)),
    max_size=3,
)  # fmt: skip


@st.composite
def series(draw: st.DrawFn) -> list[tuple[Snapshot, list[Event]]]:
    at = 0.0
    looks: list[tuple[Snapshot, list[Event]]] = []
    for _ in range(draw(st.integers(1, 12))):
        at += draw(st.sampled_from([0.0, 0.001, 0.25, 1.0, 7.0, -3.0]))
        looks.append((draw(snapshots(max(0.0, at))), list(draw(events))))
    return looks


def numbers(seen: Observation) -> list[float]:
    rates = [seen.prompt_rate, seen.generation_rate]
    for rate in seen.rates.values():
        rates += [rate.prompt, rate.generation, rate.stalled_for]
    for point in seen.history:
        rates += [point.prompt_rate, point.generation_rate, *point.slot_rates]
    return [rate for rate in rates if rate is not None]


@settings(max_examples=120, deadline=None)
@given(series())
def test_rates_are_finite_and_never_negative(looks: list[tuple[Snapshot, list[Event]]]) -> None:
    observer = Observer(capacity=8)
    for snapshot, happened in looks:
        seen = observer.observe(snapshot, happened)
        assert all(math.isfinite(rate) and 0 <= rate <= 3e6 for rate in numbers(seen))
        assert len(seen.history) <= 8


@settings(max_examples=60, deadline=None)
@given(series())
def test_findings_are_lines_with_evidence_and_appear_once(looks: list[tuple[Snapshot, list[Event]]]) -> None:
    observer = Observer()
    for snapshot, happened in looks:
        findings = observer.observe(snapshot, happened).findings
        assert len({finding.key for finding in findings}) == len(findings)
        for finding in findings:
            assert all(line and "\n" not in line for line in (finding.text, finding.evidence, finding.advice))


@settings(max_examples=60, deadline=None)
@given(series())
def test_the_same_look_again_changes_nothing(looks: list[tuple[Snapshot, list[Event]]]) -> None:
    observer = Observer()
    for snapshot, happened in looks:
        seen = observer.observe(snapshot, happened)
    again = observer.observe(looks[-1][0])
    assert (again.rates, again.history, again.restarts) == (seen.rates, seen.history, seen.restarts)
    assert again.generation_rate == seen.generation_rate


def test_memory_is_flat_over_ten_thousand_polls() -> None:
    observer = Observer(capacity=100)

    def objects_after(first: int, count: int) -> int:
        for t in range(first, first + count):
            slot = generating(0, t // 4, 1 + t % 4) if t % 4 else idle(0, t // 4)
            observer.observe(look(t / 4, slot), [TaskEnded(t / 4, 0, t // 4, "limit", n_decoded=3)])
        gc.collect()
        return len(gc.get_objects())

    before = objects_after(0, 3000)
    assert abs(objects_after(3000, 7000) - before) < 50
