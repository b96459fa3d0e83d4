"""Helpers share work, pass on errors, sleep between shifts and end with their crew."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable

import pytest

from slotview.engine.model.threads import gates
from slotview.engine.model.threads.crew import FIRST_PAUSE, Crew, usable_cores


@pytest.fixture(params=[True, False], ids=["spinning", "sleeping"])
def _kind_of_gate(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    can_spin = gates.new_gate.__globals__["_can_spin"]()
    if request.param and not can_spin:
        pytest.skip("no spin locks here")
    monkeypatch.setattr(gates, "_can_spin", lambda: request.param)


pytestmark = pytest.mark.usefixtures("_kind_of_gate")


def noting(seen: list[tuple[int, int]], number: int) -> Callable[[], None]:
    return lambda: seen.append((number, threading.get_ident()))


def test_tasks_run_on_different_threads() -> None:
    crew = Crew(3)
    seen: list[tuple[int, int]] = []
    with crew.shift():
        crew.run([noting(seen, number) for number in range(3)])
    assert sorted(number for number, _ in seen) == [0, 1, 2]
    assert len({thread for _, thread in seen}) == 3


def test_many_short_shifts_lose_nothing() -> None:
    crew = Crew(2)
    seen: list[tuple[int, int]] = []
    for number in range(500):
        with crew.shift():
            for _ in range(number % 3):
                crew.run([noting(seen, number), noting(seen, number)])
    assert len(seen) == sum(2 * (number % 3) for number in range(500))


def test_helpers_use_no_time_between_shifts() -> None:
    crew = Crew(2)
    for _ in range(50):
        with crew.shift():
            crew.run([int, int])
    time.sleep(0.05)
    before = time.process_time()
    time.sleep(0.2)
    assert time.process_time() - before < 0.1


@pytest.mark.parametrize("place", [0, 1])
def test_errors_reach_the_caller_and_the_crew_goes_on(place: int) -> None:
    crew = Crew(2)

    def fail() -> None:
        raise KeyError("lost")

    tasks: list[Callable[[], object]] = [int, int]
    tasks[place] = fail
    with pytest.raises(KeyError, match="lost"), crew.shift():
        crew.run(tasks)
    with crew.shift():
        crew.run([int, int])


def test_threads_end_with_the_crew() -> None:
    before = threading.active_count()
    crew = Crew(3)
    with crew.shift():
        crew.run([int, int, int])
    del crew
    gc.collect()
    deadline = time.monotonic() + 5
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() <= before


def test_there_is_at_least_one_core() -> None:
    assert usable_cores() >= 1


def test_where_a_helper_comes_late_the_caller_works_alone_for_a_while() -> None:
    crew = Crew(2)

    def threads() -> int:
        seen: list[tuple[int, int]] = []
        with crew.shift():
            crew.run([noting(seen, 0), noting(seen, 1)])
        assert [number for number, _ in sorted(seen)] == [0, 1]
        return len({thread for _, thread in seen})

    with crew.shift():
        crew.run([int, lambda: time.sleep(0.05)])
    assert [threads() for _ in range(FIRST_PAUSE)] == [1] * FIRST_PAUSE
    assert threads() == 2
