"""The embedded scheduler at work, watched four times a second: its cases lead to the right findings."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slotview.engine.context import LaunchFlags, ModelFacts, plan_context
from slotview.engine.context.kv_size import KvShape
from slotview.engine.events import Event
from slotview.engine.lab.ghost import GhostModel
from slotview.engine.model.sampling_params import SamplingParams
from slotview.engine.observe.observation import Observation
from slotview.engine.observe.observer import Observer
from slotview.engine.pace import PROFILES
from slotview.engine.slots.core import Core
from slotview.engine.slots.options import CoreOptions
from slotview.engine.slots.queue.task import TaskParams

FACTS = ModelFacts(n_ctx_train=8192, shape=KvShape(1, 1, 64, 64))
DEVICE = PROFILES["m4-9b"]


@dataclass(frozen=True)
class Post:
    at: float
    n_prompt: int
    n_answer: int
    id_slot: int = -1


def watched(
    flags: LaunchFlags, posts: Sequence[Post], *, shift: bool = False, batching: str = "continuous"
) -> list[tuple[float, Observation]]:
    """Run all to its end; return what was concluded, with the time."""
    options = CoreOptions(verbosity=0, cache_ram=0, context_shift=shift, batching=batching)
    core = Core(plan_context(flags, FACTS), GhostModel(FACTS), options)
    observer, coming = Observer(), deque(posts)
    seen: list[tuple[float, Observation]] = []
    happened: list[Event] = []
    now = looked = 0

    def look() -> None:
        nonlocal looked
        seen.append((now / 1e6, observer.observe(core.snapshot(now), [*happened, *core.take_events()])))
        happened.clear()
        looked = now

    while coming or core.has_work:
        if not core.has_work:
            now = max(now, round(coming[0].at * 1e6))
        while coming and coming[0].at * 1e6 <= now:
            _post(core, coming.popleft())
        piece = core.begin(now)
        while piece is not None:
            core.compute(piece)
            now += DEVICE.step_us(piece)
            piece = core.settle(piece, now)
            happened += core.take_events()
            if now >= looked + 250_000:
                look()
    look()
    return seen


def _post(core: Core, post: Post) -> None:
    params = TaskParams(
        n_predict=post.n_answer,
        id_slot=post.id_slot,
        sampling=SamplingParams(temperature=0.0, ignore_eos=True),
    )
    prompt = np.random.default_rng(int(post.at * 10)).integers(2, 256, post.n_prompt, dtype=np.int32)
    core.post([prompt], params, int(post.at * 1e6))


def keys_at(seen: list[tuple[float, Observation]], start: float, end: float) -> set[str]:
    return {finding.key for at, look in seen if start <= at < end for finding in look.findings}


def test_eight_requests_on_four_slots() -> None:
    seen = watched(LaunchFlags(ctx_size=8192, parallel=4), [Post(0.0, 15, 64)] * 8)
    assert keys_at(seen, 0, 99) == {"all-busy"}
    rates = [rate for _, look in seen for slot in look.rates.values() if (rate := slot.generation) is not None]
    assert max(rates) < 9.8  # 103 ms a step for four slots
    assert all(look.generation_rate is None or look.generation_rate < 39.0 for _, look in seen)
    assert [len(seen[-1][1].ended), seen[-1][1].restarts] == [8, 0]


def test_c12_the_pool_fills_and_all_end() -> None:
    seen = watched(LaunchFlags(ctx_size=512), [Post(0.0, 61, 300)] * 4)
    last = [finding.key for finding in seen[-1][1].findings]
    assert last == ["pool-overflow", "pool-nearly-full"]
    assert "4 requests ended" in seen[-1][1].findings[0].text
    assert "pool-nearly-full" in keys_at(seen, 0, seen[-1][0])


def test_c22_an_idle_slot_while_the_queue_waits_for_a_pin() -> None:
    posts = [Post(0.0, 20, 500, 0), Post(0.3, 20, 60, 1), Post(0.4, 20, 60, 0), Post(0.5, 20, 60)]
    seen = watched(LaunchFlags(ctx_size=2048, parallel=2), posts)
    finding = next(f for _, look in seen for f in look.findings if f.key == "idle-beside-waiting")
    assert finding.text == "2 requests wait while slot 1 is idle"
    assert "pinned to busy slot 0" in finding.evidence


def test_pins_that_leave_three_slots_idle() -> None:
    posts = [Post(0.0, 20, 300, 0), Post(0.3, 20, 60, 0), Post(0.4, 20, 60, 0)]
    seen = watched(LaunchFlags(ctx_size=2048, parallel=4), posts)
    assert keys_at(seen, 3, 20) == {"pins-leave-idle", "serial-work"}


def test_a_static_batch_leaves_slots_idle_beside_waiting_requests() -> None:
    posts = [Post(0.0, 20, 200), Post(0.0, 20, 20), Post(0.0, 20, 20)]
    seen = watched(LaunchFlags(ctx_size=2048, parallel=2), posts, batching="static")
    finding = next(f for _, look in seen for f in look.findings if f.key == "batch-not-ended")
    assert finding.text == "1 request waits while slot 0 is idle: the batch has not ended"
    assert keys_at(seen, 0, 999) <= {"all-busy", "batch-not-ended"}, "no word about pins, nor that slots are of no use"


def test_c46_a_context_that_shifts_again_and_again() -> None:
    seen = watched(LaunchFlags(ctx_size=256, parallel=1), [Post(0.0, 200, 500)], shift=True)
    assert "context-shift" in keys_at(seen, 20, 30)


def test_nothing_is_found_in_ordinary_work() -> None:
    seen = watched(LaunchFlags(ctx_size=8192, parallel=4), [Post(float(at), 100, 40) for at in range(0, 60, 5)])
    assert keys_at(seen, 0, 999) == set()
