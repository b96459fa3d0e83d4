"""A core on a virtual clock with a stub model, and short ways to ask it things."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from slotview.engine.context import LaunchFlags, ModelFacts, plan_context
from slotview.engine.events import Event, LogLine
from slotview.engine.model.interface import TokenIds
from slotview.engine.model.sampling_params import SamplingParams
from slotview.engine.slots.core import Core
from slotview.engine.slots.options import CoreOptions
from slotview.engine.slots.queue.task import ActionDone, ActionTask, Failed, Final, Partial, Result, TaskParams
from tests.engine.stub_model import StubModel

__all__ = ["STEP_US", "Desk", "numbered", "params", "plan_of"]

STEP_US = 1000
FLAGS = set(LaunchFlags.__struct_fields__)
SAMPLING = set(SamplingParams.__struct_fields__)
SomeEvent = TypeVar("SomeEvent", bound=Event)
SomeResult = TypeVar("SomeResult", bound=Result)
Prompt = str | Sequence[int] | TokenIds


def numbered(n: int, first: int = 0) -> list[int]:
    """A prompt of ``n`` tokens of which no two neighbouring prompts share a beginning: 1, 2, 3 … behind ``first``."""
    return [1 + (first * 37 + i) % 96 for i in range(n)]


def params(**given: Any) -> TaskParams:
    """Task parameters, greedy unless told otherwise; sampling fields may be mixed in."""
    sampling = {"temperature": 0.0} | {name: given.pop(name) for name in list(given) if name in SAMPLING}
    return TaskParams(**given, sampling=SamplingParams(**sampling))


def plan_of(n_ctx_train: int = 8192, **flags: Any) -> Any:
    """A context plan from launch flags."""
    return plan_context(LaunchFlags(**flags), ModelFacts(n_ctx_train))


class Desk:
    """``parallel``, ``ctx_size`` … are launch flags; everything else is an option of the core."""

    def __init__(self, model: StubModel | None = None, **given: Any) -> None:
        flags = {name: given.pop(name) for name in list(given) if name in FLAGS}
        self.model = model or StubModel()
        self.options = CoreOptions(**({"cache_ram": 0, "verbosity": 4, "check": True} | given))
        self.core = Core(plan_of(self.model.n_ctx_train, **flags), self.model, self.options)
        self.now = 0
        self.results: list[Result] = []
        self.events: list[Event] = []

    def prompt(self, prompt: Prompt) -> TokenIds:
        """Tokens of a text, or the tokens given."""
        return self.model.tokenizer.encode(prompt) if isinstance(prompt, str) else np.array(prompt, np.int32)

    def ask(self, *prompts: Prompt, **given: Any) -> int:
        """Post a request; returns its first task."""
        return self.post(*prompts, **given)[0]

    def post(self, *prompts: Prompt, **given: Any) -> list[int]:
        """Post a request; returns all its tasks."""
        return self.core.post([self.prompt(prompt) for prompt in prompts], params(**given), self.now)

    def act(self, action: str, id_slot: int, data: bytes | None = None, path: Path | None = None) -> int:
        """Post a slot action."""
        return self.core.post_action(ActionTask(action, id_slot, path, data), self.now)

    def step(self, n: int = 1) -> None:
        """Run ``n`` iterations; each piece takes `STEP_US`."""
        for _ in range(n):
            self.core.step(self.now, lambda _: self._tick())
            self._collect()

    def _tick(self) -> int:
        self.now += STEP_US
        return self.now

    def _collect(self) -> None:
        self.results += self.core.take_results()
        events = self.core.take_events()
        assert all(0 <= event.time <= self.now / 1e6 for event in events)
        self.events += events

    def run(self, limit: int = 100_000) -> None:
        """Run until nothing is to be done."""
        while self.core.has_work and limit:
            self.step()
            limit -= 1
        assert not self.core.has_work, "the core does not come to rest"
        self.step()  # the iteration that finds all slots idle

    def answer(self, *prompts: Prompt, **given: Any) -> Final:
        """Post one request, run to the end, return its (first) final answer."""
        task = self.ask(*prompts, **given)
        self.run()
        return self.final(task)

    def of(self, task: int, kind: type[SomeResult]) -> list[SomeResult]:
        """Results of one kind that a task gave."""
        return [result for result in self.results if result.task == task and isinstance(result, kind)]

    def final(self, task: int) -> Final:
        """A task's answer."""
        finals = self.of(task, Final)
        assert len(finals) == 1, f"task {task} ended with {self.ends(task)}"
        return finals[0]

    def failed(self, task: int) -> Failed:
        """A task's error."""
        (failed,) = self.of(task, Failed)
        return failed

    def done(self, task: int) -> ActionDone:
        """A slot action's answer."""
        (done,) = self.of(task, ActionDone)
        return done

    def streamed(self, task: int) -> str:
        """The text a stream carried, its tail included."""
        return "".join(part.text for part in self.of(task, Partial)) + self.final(task).tail

    def ends(self, task: int) -> list[Result]:
        """Whatever ended a task."""
        return [result for result in self.results if result.task == task and result.is_last]

    def order_of_ends(self) -> list[int]:
        """Tasks in the order in which they ended."""
        return [result.task for result in self.results if result.is_last]

    def happened(self, kind: type[SomeEvent]) -> list[SomeEvent]:
        """Events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]

    def log(self, *, levels: str = "EWI", containing: str = "") -> list[str]:
        """Log lines so far."""
        return [line.text for line in self.happened(LogLine) if line.level in levels and containing in line.text]

    @property
    def held(self) -> list[int]:
        """Tokens in each slot."""
        return [slot.n_tokens for slot in self.core.slots]

    @property
    def busy(self) -> list[int]:
        """Ids of busy slots."""
        return [slot.id for slot in self.core.slots if slot.is_processing]
