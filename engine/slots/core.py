"""The scheduler: llama-server's main loop without thread, clock, sleep or I/O (spec §5, §6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from ..backend import RetuneReport
from ..context import ContextPlan
from ..events import Event
from ..model.interface import Floats, Model, TokenIds
from ..model.sampling_params import RANDOM_SEED
from ..snapshot import SlotDetails, Snapshot
from .actions import Actions
from .decode.batch import Batch, Piece
from .decode.context_shift import ContextShift
from .decode.decoding import BROKEN, Decoding
from .decode.ending import Endings
from .decode.sampling_step import SamplingStep
from .integrity import check_integrity
from .launch import Launching
from .options import CoreOptions
from .prompt.prefill import PromptFeeder
from .queue.job import ActionJob, CompletionJob, Request
from .queue.task import ActionTask, Result, TaskParams
from .report.metrics import Metrics, Scrape
from .report.view import StreamCells, View
from .retune import TakenWork, put_work, take_work
from .slot import GENERATING, IN_PROMPT, Slot
from .state import CoreState

__all__ = ["Core", "Piece"]


class Core:
    """Owned by one thread. Times are int µs of the driver's clock.

    A driver repeats `begin`, and for every piece `compute` (which needs no lock) and `settle`; or it calls `step`.
    """

    def __init__(self, plan: ContextPlan, model: Model, options: CoreOptions | None = None, *, now: int = 0) -> None:
        """Allocate the KV store. Raises `ValueError` for cache types the model cannot use, and `MemoryError`."""
        state = CoreState(plan, model, options or CoreOptions(), now)
        self._state = state
        self._endings = Endings(state)
        self._prompts = PromptFeeder(state, self._endings)
        self._launching = Launching(state, self._endings)
        self._actions = Actions(state, self._endings)
        self._shift = ContextShift(state, self._endings)
        self._decoding = Decoding(state, self._endings)
        self._sampling = SamplingStep(state, self._endings, self._prompts)
        self._view = View(state)
        self._logits: Floats | None = None
        self._failure = ""
        self._rested = False

    # What it is ------------------------------------------------------------------------------------------------

    @property
    def plan(self) -> ContextPlan:
        """The context plan it runs with."""
        return self._state.plan

    @property
    def model(self) -> Model:
        """The model."""
        return self._state.model

    @property
    def options(self) -> CoreOptions:
        """The server's options."""
        return self._state.options

    @property
    def slots(self) -> tuple[Slot, ...]:
        """All slots, to read."""
        return self._state.slots

    @property
    def metrics(self) -> Metrics:
        """The counters, to read."""
        return self._state.metrics

    @property
    def n_deferred(self) -> int:
        """Length of the deferred queue (``requests_deferred``)."""
        return len(self._state.queue.deferred)

    @property
    def is_idle(self) -> bool:
        """Whether no slot is busy and nothing has arrived."""
        return not self.has_work

    @property
    def has_work(self) -> bool:
        """Whether `begin` would do something."""
        queue = self._state.queue
        return bool(queue.main or queue.deferred) or self._state.any_busy()

    # Arrivals --------------------------------------------------------------------------------------------------

    def post(self, prompts: Sequence[TokenIds], params: TaskParams, now: int) -> list[int]:
        """Queue one request and return its task ids by output index (prompts × ``n_cmpl``)."""
        queue, n = self._state.queue, max(1, params.n_cmpl)
        tasks = [queue.take_id() for _ in range(len(prompts) * n)]
        request = Request(tuple(tasks), len(prompts))
        for number, prompt in enumerate(prompts):
            own = tasks[number * n : (number + 1) * n]
            family = [
                CompletionJob(task, number * n + i, prompt, _output_params(params, i), now, request)
                for i, task in enumerate(own)
            ]
            for child in family[1:]:
                child.parent = own[0]
            family[0].children = family[1:]
            for job in family[0].fitting(len(self._state.slots)):
                queue.post(job)
        return tasks

    def post_action(self, action: ActionTask, now: int) -> int:
        """Queue a slot action and return its task id."""
        job = ActionJob(self._state.queue.take_id(), action, now)
        self._state.queue.post(job)
        return job.task

    def cancel(self, task: int) -> None:
        """Give a task up; at the next step boundary it ends, wherever it is."""
        self._endings.cancel((task,))

    # The main loop ---------------------------------------------------------------------------------------------

    def begin(self, now: int) -> Piece | None:
        """Take what has arrived and build the next batch; None when all slots are idle and nothing is to be done."""
        self._state.now = now
        while True:
            handled = self._drain()
            if not self._state.any_busy():
                if self._wake_stranded():
                    continue
                self._rest(handled)
                return None
            self._rested = False
            self._state.queue.take_id()  # the server posts itself a task for each busy iteration
            self._shift.run()
            piece = self._load(self._build())
            if piece is not None:
                return piece

    def compute(self, piece: Piece) -> None:
        """Run the model. A failure is kept, and `settle` ends the running tasks by it."""
        self._logits, self._failure = None, ""
        try:
            self._state.cache.apply_shifts(self._state.model)
            self._logits = self._state.model.forward(piece.runs, self._state.cache.store)
        except Exception as error:
            self._failure = f"{type(error).__name__}: {error}"

    def settle(self, piece: Piece, now: int) -> Piece | None:
        """Book, sample and stop; return the iteration's next piece, or None at its end."""
        self._state.now = now
        if self._logits is None:
            self._decoding.give_up(BROKEN, -3, f"the model failed: {self._failure}")
            return None
        self._sampling.run(piece, self._logits)
        self._logits = None
        self._decoding.advance(piece)
        return self._decoding.cut()

    def step(self, now: int, done: Callable[[Piece], int] | None = None) -> bool:
        """Run one iteration; ``done`` gives the time at which a piece ends (default: now). False when all was idle."""
        had_work = self.has_work
        piece = self.begin(now)
        while piece is not None:
            self.compute(piece)
            piece = self.settle(piece, now if done is None else done(piece))
        return had_work

    def _drain(self) -> bool:
        """Handle everything in the main queue."""
        queue, handled = self._state.queue, False
        if self._state.is_static:
            self._launching.open_batch()
        while queue.main:
            job = queue.main.popleft()
            handled = True
            if isinstance(job, CompletionJob):
                self._launching.handle(job)
            elif isinstance(job, ActionJob):
                self._actions.handle(job)
            else:
                self._endings.cancel_now(job.task)
        return handled

    def _wake_stranded(self) -> bool:
        """With all slots idle nobody would wake what is deferred (an action took the last release): do it here."""
        queue = self._state.queue
        if queue.deferred:
            queue.main.append(queue.deferred.popleft())
        return bool(queue.main)

    def _rest(self, handled: bool) -> None:
        state = self._state
        if handled or not self._rested:
            state.log.srv("T", "update_slots", "all slots are idle")
        if not self._rested and state.options.check:
            self.check_integrity()
        state.metrics.book_prompt(state.now)
        self._rested = True

    def _build(self) -> Batch:
        """One token for each generating slot, then prompts by slot id (spec §6.3)."""
        batch, slots = Batch(), self._state.slots
        for slot in slots:
            if slot.phase == GENERATING:
                n = slot.n_tokens
                slot.tokens[n] = slot.sampled
                slot.n_tokens = n + 1
                batch.add(slot, n, 1, True, False)
        if not self._state.options.cont_batching and batch.n_tokens:
            return batch
        n_batch = self._state.plan.n_batch
        for slot in slots:
            if batch.n_tokens >= n_batch:
                break
            if slot.phase in IN_PROMPT:
                self._prompts.feed(slot, batch)
        return batch

    def _load(self, batch: Batch) -> Piece | None:
        self._decoding.load(batch)
        piece = self._decoding.cut()
        if piece is None and not batch.parts and not self._state.queue.main and self._state.any_busy():
            self._endings.abort_all("no tokens to decode")  # cannot happen; better an error than a loop
        return piece

    # What happened ---------------------------------------------------------------------------------------------

    def take_results(self) -> list[Result]:
        """Results since the last call, in order."""
        results, self._state.results = self._state.results, []
        return results

    def take_events(self) -> list[Event]:
        """Events since the last call, in order."""
        events = self._state.events[:]
        self._state.events.clear()
        return events

    # Looking ---------------------------------------------------------------------------------------------------

    def snapshot(self, now: int) -> Snapshot:
        """What a watcher shows; valid between `begin` and `settle` too (token lists are then ahead, spec §5.1)."""
        return self._view.snapshot(now)

    def details(self, slot: int) -> SlotDetails:
        """One slot's parameters, timings and text."""
        return self._view.details(slot)

    def cells(self) -> tuple[StreamCells, ...]:
        """Which slot uses which cell, for each stream."""
        return self._view.cells()

    def scrape(self) -> Scrape:
        """Values for GET /metrics; empties the two speed gauges."""
        return self._state.metrics.scrape(len(self._state.busy()), self.n_deferred)

    def check_integrity(self) -> None:
        """Assert the invariants; only between iterations."""
        check_integrity(self._state)

    # Retune ----------------------------------------------------------------------------------------------------

    def take_for_retune(self) -> TakenWork:
        """Take all work out, for another core's `requeue`; only between iterations. This core is then empty."""
        return take_work(self._state)

    def requeue(self, taken: TakenWork, now: int) -> RetuneReport:
        """Queue the work of another core here, in order of arrival; tasks keep their ids."""
        self._state.now = now
        return put_work(taken, self._state)


def _output_params(params: TaskParams, number: int) -> TaskParams:
    """Parameters of output ``number`` of a prompt, whose seeds count up from the given one (spec §5.4)."""
    if number == 0:
        return params
    seed = params.sampling.seed
    if seed == RANDOM_SEED:
        return params
    return replace(params, sampling=replace(params.sampling, seed=(seed + number) % 2**32))
