"""Runs the scheduler over a workload in virtual time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from time import perf_counter_ns
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct, field

from ..events import Event, TaskStarted
from ..model.sampling_params import SamplingParams
from ..slots.queue.task import Failed, Final, Result, TaskParams
from .ghost import VOCABULARY
from .workload import Arrival, Workload

if TYPE_CHECKING:
    from ..model.interface import TokenIds
    from ..slots.core import Core, Piece

__all__ = ["Done", "Drive", "StepCost", "measured"]

StepCost = Callable[["Piece", int], int]
"""Duration of a piece in µs, given the piece and the µs it really took here."""


def measured(piece: Piece, taken: int) -> int:
    """Let a step last as long as it really took, to measure this machine."""
    return taken


class Done(Struct, frozen=True):
    """How one request went. Times are seconds; ``error`` is the line it ended with, if it failed."""

    waited: float
    first_token: float | None = None
    seconds: float | None = None
    n_decoded: int = 0
    n_cached: int = 0
    speed: float | None = None
    truncated: bool = False
    error: str | None = None


class Drive(Struct):
    """One run. Afterwards, ``done`` holds what became of each request, ``now`` the time (µs) when all were done, and
    ``peak_active`` the most tokens that busy slots held.
    """

    core: Core
    workload: Workload
    cost: StepCost
    done: list[Done] = field(default_factory=list)
    now: int = 0
    peak_active: int = 0
    _posted: dict[int, int] = field(default_factory=dict)
    _started: dict[int, int] = field(default_factory=dict)

    def run(self) -> None:
        """Let everything arrive, and run the core until all is done. Idle time is skipped."""
        prompts = _Prompts(self.workload)
        coming = deque(sorted(self.workload.arrivals, key=lambda arrival: arrival.at))
        while coming or self.core.has_work:
            while coming and round(coming[0].at * 1e6) <= self.now:
                self._post(coming.popleft(), prompts)
            if not self.core.has_work:
                self.now = round(coming[0].at * 1e6)
                continue
            self._iterate()

    def _post(self, arrival: Arrival, prompts: _Prompts) -> None:
        at = round(arrival.at * 1e6)
        sampling = SamplingParams(temperature=0.0, ignore_eos=True)
        params = TaskParams(n_predict=arrival.n_answer, sampling=sampling)
        (task,) = self.core.post([prompts.make(arrival.n_prompt)], params, at)
        self._posted[task] = at

    def _iterate(self) -> None:
        """One iteration of the main loop, piece by piece."""
        core, began = self.core, perf_counter_ns()
        piece = core.begin(self.now)
        self._look(core.take_events())  # before the results: a refused prompt starts and ends in one go
        self._hear(core.take_results())
        while piece is not None:
            core.compute(piece)
            self.now += max(1, self.cost(piece, (perf_counter_ns() - began) // 1000))
            began = perf_counter_ns()
            piece = core.settle(piece, self.now)
            self._measure()
            self._look(core.take_events())
            self._hear(core.take_results())

    def _measure(self) -> None:
        active = sum(slot.n_tokens for slot in self.core.slots if slot.is_processing)
        self.peak_active = max(self.peak_active, active)

    def _look(self, events: Iterable[Event]) -> None:
        for event in events:
            if isinstance(event, TaskStarted):
                self._started[event.task] = round(event.time * 1e6)

    def _hear(self, results: Iterable[Result]) -> None:
        for result in results:
            if isinstance(result, Final | Failed):
                self.done.append(self._done(result))

    def _done(self, result: Final | Failed) -> Done:
        posted = self._posted.pop(result.task)
        started = self._started.pop(result.task, self.now)
        waited = (started - posted) / 1e6
        if isinstance(result, Failed):
            return Done(waited, error=result.message)
        times = result.timings
        seconds = times.predicted_us / 1e6
        return Done(
            waited=waited,
            first_token=waited + times.prompt_us / 1e6,
            seconds=(self.now - posted) / 1e6,
            n_decoded=result.n_decoded,
            n_cached=times.cache_n,
            speed=(result.n_decoded - 1) / seconds if result.n_decoded > 1 and seconds > 0 else None,
            truncated=result.truncated,
        )


class _Prompts:
    """Prompts made from a seed: a common beginning, then random tokens."""

    def __init__(self, workload: Workload) -> None:
        self._dice = np.random.default_rng(workload.seed)
        self._shared: TokenIds = self._tokens(workload.shared)

    def _tokens(self, n: int) -> TokenIds:
        return self._dice.integers(2, VOCABULARY, n, dtype=np.int32)

    def make(self, n: int) -> TokenIds:
        """A prompt of ``n`` tokens."""
        head = self._shared[:n]
        return np.concatenate([head, self._tokens(n - len(head))])
