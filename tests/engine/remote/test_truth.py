"""What is shown of servers of which everything is known: each number is true, or it says that it is not known."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from slotview.engine.observe.observation import Observation
from slotview.engine.observe.observer import Observer
from slotview.engine.remote.http.answer import Answer
from slotview.engine.remote.picture import picture
from slotview.engine.remote.verdict.word import judge
from slotview.engine.snapshot import HealthState, SlotState, SlotView, Snapshot
from tests.engine.remote.simulated import Simulation
from tests.engine.remote.true_server import Run, TrueServer
from tests.fake_server import Reply

WINDOW = 5.0
UNKNOWING = {"pool-maybe-full", "never-used"}  # findings that name their condition, or count what was seen
Shown = tuple[float, Snapshot, Observation]


class World:
    """A server that may be restarted, watched for a minute."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        n_slots, longest = rng.choice([1, 2, 4]), rng.choice([8, 80, 300])
        starts = [0.0, *([rng.uniform(15, 40)] if rng.random() < 0.4 else [])]
        self.servers = [TrueServer(rng, at, n_slots, longest, marked=rng.random() < 0.5) for at in starts]
        self.interval = rng.choice([0.5, 1.0, 2.0])
        self.metrics_every = rng.choice([None, None, 0.0])

    def at(self, now: float) -> TrueServer:
        return [server for server in self.servers if server.born <= now][-1]

    def shown(self) -> Iterator[Shown]:
        """Every new answer about the slots: when it was given, and what the screen shows of it."""
        answered: list[float] = []

        def serve(path: str, params: dict[str, str], now: float) -> Reply | Answer:
            if path == "/slots":
                answered.append(now)
            return self.at(now).answer(path, now)

        simulation = Simulation(serve, interval=self.interval, metrics_every=self.metrics_every)
        observer = Observer()
        while simulation.now < 60:
            simulation.run(0.1)
            known, now = simulation.known, simulation.now
            events, known.events = known.events, []
            snapshot = picture(known, "http://host", judge(known, "host", now=now), now, int(now * 1000))
            seen = observer.observe(snapshot, events)
            if answered and snapshot.slots_at is not None:
                yield answered[-1], snapshot, seen
                answered.clear()
        self.last = seen


def states(world: World, at: float) -> list[tuple[SlotState, Run | None]]:
    server = world.at(at)
    runs = [server.last(slot, at) for slot in range(server.n_slots)]
    return [(_state(run, at), run) for run in runs]


def _state(run: Run | None, at: float) -> SlotState:
    if run is None:
        return SlotState.UNUSED
    if at >= run.ended:
        return SlotState.IDLE
    return SlotState.GENERATING if run.decoded(at) else SlotState.PROMPT


def told(slot: SlotView) -> tuple[object, ...]:
    return slot.state, slot.task, slot.n_tokens, slot.n_decoded, slot.n_remain, slot.unlimited


def true_of(state: SlotState, run: Run | None, at: float) -> tuple[object, ...]:
    if run is None:
        return state, None, None, None, None, False
    decoded = run.decoded(at)
    if state is SlotState.IDLE:
        return state, run.task, run.prompt + decoded - 1, None, None, False
    return state, run.task, run.prompt + decoded, decoded, run.tokens - decoded, False


@pytest.mark.parametrize("seed", range(20))
def test_everything_on_the_screen_is_true(seed: int) -> None:
    world = World(seed)
    for at, snapshot, seen in world.shown():
        server = world.at(at)
        assert snapshot.health.state is HealthState.OK
        assert snapshot.slots is not None
        for slot, (state, run) in zip(snapshot.slots, states(world, at), strict=True):
            assert told(slot) == true_of(state, run, at)
            speed = seen.rates[slot.id].generation
            if run is not None and state is SlotState.GENERATING and speed is not None:
                assert speed == pytest.approx(1 / run.gap, rel=0.1, abs=2 / world.interval)
        if snapshot.waiting.now is not None:
            told_at = snapshot.facts.endpoints["metrics"].answered_at or 0.0
            moments = (told_at - back / 500 for back in range(5))
            assert snapshot.waiting.now in {world.at(moment).waiting(moment) for moment in moments}
        check_speed_of_all(server, at, seen, world.interval)
        check_findings(server, at, seen)
    restarts = len(world.servers) - 1
    assert world.last.restarts <= restarts
    if world.servers[-1].mark and world.metrics_every is None:
        assert world.last.restarts == restarts


def check_speed_of_all(server: TrueServer, at: float, seen: Observation, interval: float) -> None:
    """What an answer adds is spread over the time since the one before, so the edges of the window are blurred."""
    if seen.generation_rate is None or at < server.born + WINDOW + interval:
        return
    least, most = (
        server.decoded_between(at - WINDOW + blur, at) / WINDOW for blur in (2.2 * interval, -4.2 * interval)
    )
    assert seen.generation_rate <= most + 1
    assert seen.generation_at_least or seen.generation_rate >= 0.8 * least - 1


def check_findings(server: TrueServer, at: float, seen: Observation) -> None:
    found = {finding.key for finding in seen.findings} - UNKNOWING
    if found:
        assert found == {"all-busy"}
        moments = [at - back / 10 for back in range(60)]
        assert any(server.waiting(moment) for moment in moments)
