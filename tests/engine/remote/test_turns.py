"""Several servers behind one address: no restart, no speed, no sum is made of answers that do not belong together."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

import pytest

from slotview.engine.events import Notice
from slotview.engine.remote.http.answer import Answer, Fault
from slotview.engine.remote.picture import picture
from slotview.engine.remote.verdict.word import judge
from slotview.engine.snapshot import HealthState, Snapshot
from tests.engine.remote.recorded import body, healthy, metrics, slot
from tests.engine.remote.simulated import Server, Simulation
from tests.fake_server import NOT_FOUND, Reply, json_reply


def one_server(task: int, total: int, mark: str | None, *, told: bool = True, busy: bool = True) -> Mapping[str, Reply]:
    """A server at work; ``mark`` is random per start, and ``told`` says whether it has counters."""
    counters = (
        metrics(tokens_predicted_total=total, requests_deferred=0, requests_processing=int(busy)) if told else NOT_FOUND
    )
    props = {**body("props"), "build_info": "b11434-0123abcd", "media_marker": mark}
    routes = healthy(json_reply([slot(task=task, decoded=total, busy=busy)]), metrics=counters, props=json_reply(props))
    return {path: reply for path, reply in routes.items() if isinstance(reply, Reply)}


def in_turn(*servers: Mapping[str, Reply]) -> Server:
    """A load balancer."""
    turns = count()
    return lambda path, _params, _now: servers[next(turns) % len(servers)].get(path, NOT_FOUND)


def seen(simulation: Simulation) -> Snapshot:
    health = judge(simulation.known, "h", now=simulation.now)
    return picture(simulation.known, "", health, simulation.now, 0)


def notices(simulation: Simulation) -> list[str]:
    return [event.text for event in simulation.known.events if isinstance(event, Notice)]


@pytest.mark.parametrize("mark", [True, False])
@pytest.mark.parametrize("told", [True, False])
def test_servers_behind_a_load_balancer_are_not_one_that_restarts_all_the_time(mark: bool, told: bool) -> None:
    small = one_server(5, 5, "a" if mark else None, told=told)
    large = one_server(900, 900, "b" if mark else None, told=told)
    simulation = Simulation(in_turn(small, large, large) if told else in_turn(small, large, large, small, large))
    simulation.run(30)
    snapshot = seen(simulation)
    assert snapshot.health.message.startswith("several servers answer here in turn")
    assert (snapshot.slots, snapshot.waiting.count, snapshot.totals.predicted_tokens) == (None, None, None)
    assert len(notices(simulation)) <= 4
    assert simulation.busiest_second(since=15) <= 3


@pytest.mark.parametrize("n_servers", [2, 3])
def test_servers_in_strict_turns_are_told_apart_at_the_first_look(n_servers: int) -> None:
    """nginx and HAProxy as they are by default: /slots would always come from one, /metrics from the other."""
    servers = [one_server(5 + task, 5 + task, f"mark {task}") for task in range(n_servers)]
    simulation = Simulation(in_turn(*servers))
    simulation.run(0.1)
    snapshot = seen(simulation)
    assert snapshot.health.message.startswith("several servers answer here in turn")
    assert (snapshot.slots, snapshot.totals.predicted_tokens) == (None, None)
    assert not notices(simulation)


def test_idle_servers_that_take_turns_are_left_in_peace() -> None:
    simulation = Simulation(in_turn(one_server(5, 5, "a", busy=False), one_server(900, 900, "b", busy=False)))
    simulation.run(120)
    assert seen(simulation).health.message.startswith("several servers answer here in turn")
    assert simulation.busiest_second(since=5) <= 2
    assert len(simulation.times("/slots")) < 12


def test_a_server_that_starts_twice_within_seconds_is_one_server() -> None:
    first, second, third = (one_server(task, task, mark) for task, mark in ((99, "a"), (50, "b"), (7, "c")))

    def restarting(path: str, params: dict[str, str], now: float) -> Reply | Answer:
        if 4 < now < 5 or 8 < now < 9:
            return Answer(fault=Fault.REFUSED, message="refused")
        return in_turn(first if now < 4 else second if now < 8 else third)(path, params, now)

    simulation = Simulation(restarting)
    simulation.run(14)
    assert seen(simulation).health.state is HealthState.OK
    assert sum("server restarted" in text for text in notices(simulation)) == 2


def test_once_only_one_of_them_answers_it_is_shown_again() -> None:
    both = in_turn(one_server(5, 5, "a"), one_server(900, 900, "b"))
    one = in_turn(one_server(5, 5, "a"))
    simulation = Simulation(lambda path, params, now: (both if now < 20 else one)(path, params, now))
    simulation.run(230)
    assert seen(simulation).slots is not None
