"""The embedded engine behind the `Backend` protocol. Importing this loads no NumPy; the engine's thread does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from ..backend import (
    BackendError,
    Capabilities,
    FireRequest,
    RetuneMode,
    RetunePreview,
    RetuneReport,
    SlotAction,
    SlotActionResult,
)
from ..context import ContextError, ContextPlan, LaunchFlags, ModelFacts
from ..context.lines import plan_lines
from ..context.preview import preview_of
from ..events import EventBatch, EventRing, Notice
from ..flags import EngineFlags
from ..pace import microseconds, seconds
from ..snapshot import Health, HealthState, KvPool, PaceView, ServerFacts, SlotDetails, Snapshot, WaitingView
from .loading import StartError, build_core, core_options, load, model_facts, plan_for
from .ticket import LocalTicket, task_params

if TYPE_CHECKING:
    from ..model.interface import Model
    from ..slots.core import Core
    from ..slots.queue.task import Result
    from .host import EngineHost

__all__ = ["LocalBackend"]

T = TypeVar("T")

CAPABILITIES = Capabilities(fire=True, retune=RetuneMode.LIVE, slot_actions=True)


class LocalBackend:
    """One engine in this process. `start` returns at once; the model is loaded in a thread.

    ``on_ready`` is called with the engine once it runs; ``served_at`` is the address at which that serves it.
    """

    def __init__(
        self,
        flags: EngineFlags,
        on_ready: Callable[[EngineHost], None] | None = None,
        served_at: str | None = None,
    ) -> None:
        self._flags = flags
        self._profile = flags.device
        self._on_ready = on_ready
        self._more_facts = _more_facts(flags, served_at)
        self._ring = EventRing()
        self._host: EngineHost | None = None
        self._facts: ModelFacts | None = None
        self._model: Model | None = None
        self._error: str | None = None
        why = "not known: loading"
        self._last = Snapshot(
            facts=ServerFacts(source="embedded"),
            health=Health(HealthState.LOADING, "loading the model"),
            waiting=WaitingView(why=why),
            pool=KvPool(why=why),
        )
        self._numbers = count(1)
        self._worker = ThreadPoolExecutor(1, "slotview-worker")
        self._ready: Future[EngineHost] = Future()

    @property
    def capabilities(self) -> Capabilities:
        """It can fire prompts, retune live and erase slots."""
        return CAPABILITIES

    @property
    def flags(self) -> LaunchFlags:
        """The current launch flags."""
        return self._flags.launch

    @property
    def error(self) -> str | None:
        """Why the engine could not start, in one line; None if it could, or is still starting."""
        return self._error

    def start(self) -> None:
        """Load the model and start the engine, in the background."""
        self._worker.submit(self._load)

    def _load(self) -> None:
        from .host import EngineHost

        try:
            self._model = load(self._flags)
            self._facts = model_facts(self._model, self._flags.launch)
            core = build_core(self._flags, self._model, microseconds())
        except StartError as error:
            self._broken(str(error))
            return
        except Exception as error:
            self._broken(f"the engine could not start: {type(error).__name__}: {error}")
            return
        self._ring.extend(Notice(seconds(), warning, "warning") for warning in self._model.tokenizer.warnings)
        self._log(core.plan)
        self._host = EngineHost(core, self._profile, self._ring)
        self._host.start()
        if self._on_ready:
            self._on_ready(self._host)
        self._ready.set_result(self._host)

    def _log(self, plan: ContextPlan) -> None:
        """Let the log say what the flags came to, as llama-server's does when it starts."""
        from ..slots.report.log import Log

        log = Log(self._flags.verbosity, lambda line: self._ring.extend([line]), microseconds)
        for level, text in plan_lines(plan):
            log.library(level, text)

    def _broken(self, why: str) -> None:
        """Remember why nothing will run, and let everyone know who waits for it."""
        self._error = why
        health = Health(HealthState.ERROR, why, "quit with q and start again with other flags")
        unknown = "the engine does not run"
        self._last = replace(self._last, health=health, waiting=WaitingView(why=unknown), pool=KvPool(why=unknown))
        self._ring.extend([Notice(seconds(), why, "error")])
        self._ready.set_exception(BackendError(why))

    def wait_ready(self, timeout: float | None = None) -> EngineHost:
        """Block until the engine runs. Raises `BackendError` if it cannot. Not for the screen's thread."""
        return self._ready.result(timeout)

    def latest(self) -> Snapshot:
        """Return the newest snapshot."""
        host = self._host
        now = seconds()
        if host is None:
            return replace(self._last, time=now)
        snapshot = host.latest()
        health = snapshot.health
        if host.failure:
            health = Health(HealthState.ERROR, host.failure, "quit with q and start again")
        lag = host.lag if host.lag is not None and host.lag > 1 else None
        pace = PaceView(host.profile.name if host.profile else "off", lag)
        slots_at = snapshot.time if snapshot.busy else now
        facts = replace(snapshot.facts, **self._more_facts) if self._more_facts else snapshot.facts
        return replace(snapshot, time=now, slots_at=slots_at, facts=facts, health=health, pace=pace)

    def events(self, after: int) -> EventBatch:
        """Return what happened after a cursor."""
        return self._ring.after(after)

    def submit(self, request: FireRequest) -> list[LocalTicket]:
        """Fire a prompt ``count`` times; the worker thread tokenizes it."""
        if self._error:
            raise BackendError(self._error)
        tickets = [LocalTicket(next(self._numbers), request.prompt, self._cancel) for _ in range(request.count)]
        self._worker.submit(self._post, request, tickets)
        return tickets

    def _cancel(self, tasks: Sequence[int]) -> None:
        if self._host:
            self._host.cancel(tasks)

    def _post(self, request: FireRequest, tickets: Sequence[LocalTicket]) -> None:
        """Tokenize the prompt once, then post one request for each ticket."""
        try:
            host = self._ready.result()
            assert self._model is not None
            prompt = self._model.tokenizer.encode(request.prompt)
            params = task_params(request, self._flags)
            for ticket in tickets:
                (task,) = host.post([prompt], params, ticket.receive)
                if not ticket.queued(task):
                    host.cancel([task])
        except Exception as error:
            for ticket in tickets:
                ticket.fail(str(error))

    def details(self, slot: int) -> Future[SlotDetails]:
        """Fetch one slot's details."""
        return self._later(lambda host: host.look(lambda core: _details(core, slot)))

    def preview(self, flags: LaunchFlags) -> RetunePreview:
        """Compute what other flags would do."""
        facts = self._facts
        if facts is None:
            return RetunePreview(flags, error="the model is still being loaded")
        try:
            return preview_of(plan_for(flags, facts), self.latest())
        except ContextError as error:
            return RetunePreview(flags, error=str(error))

    def retune(self, flags: LaunchFlags) -> Future[RetuneReport]:
        """Rebuild the engine with other flags at the next step boundary; if that fails, the old one goes on."""
        return self._later(lambda host: host.at_boundary(lambda core: self._rebuild(host, core, flags)).result())

    def _rebuild(self, host: EngineHost, core: Core, flags: LaunchFlags) -> RetuneReport:
        from ..slots.core import Core

        assert self._facts is not None
        try:
            plan = plan_for(flags, self._facts)
            fresh = Core(plan, core.model, core_options(self._flags), now=microseconds())
        except (ValueError, MemoryError) as error:
            raise BackendError(str(error) or "not enough memory; the engine goes on as it was") from None
        self._log(plan)
        report = fresh.requeue(core.take_for_retune(), microseconds())
        host.replace(fresh)
        self._flags = replace(self._flags, launch=flags)
        return report

    def slot_action(self, action: SlotAction, slot: int, filename: str | None = None) -> Future[SlotActionResult]:
        """Erase a slot's cached tokens; waits while the slot is busy."""
        if action is not SlotAction.ERASE:
            raise BackendError("the dashboard only erases; save and restore go through the HTTP face (--listen)")
        snapshot = self.latest()
        if slot not in {view.id for view in snapshot.slots or ()}:
            raise BackendError(f"there is no slot {slot}")
        answer: Future[SlotActionResult] = Future()
        self._worker.submit(self._act, action, slot, answer)
        return answer

    def _act(self, action: SlotAction, slot: int, answer: Future[SlotActionResult]) -> None:
        from ..slots.queue.task import ActionDone, ActionTask, Failed

        def sink(results: Sequence[Result]) -> None:
            for result in results:
                if isinstance(result, ActionDone):
                    text = f"slot {slot}: {result.n_tokens} tokens erased"
                    answer.set_result(SlotActionResult(action, slot, result.n_tokens, text))
                elif isinstance(result, Failed):
                    answer.set_exception(BackendError(result.message))

        self._ready.result().post_action(ActionTask(str(action), slot), sink)

    def look_now(self) -> None:
        """Nothing to do: the snapshot is always new."""

    def set_interval(self, seconds: float) -> None:
        """Nothing to do: the engine is not polled."""

    def choose_model(self, name: str) -> None:
        """Always raises `BackendError`: there is only one model."""
        raise BackendError("the embedded engine has one model; start slotview with --model FILE for another")

    def close(self) -> None:
        """Stop the engine."""
        self._worker.shutdown(wait=False, cancel_futures=True)
        if self._host:
            self._host.close()

    def _later(self, work: Callable[[EngineHost], T]) -> Future[T]:
        """Run ``work`` with the engine in the worker thread. Raises `BackendError` where there is no engine."""
        if self._error:
            raise BackendError(self._error)
        return self._worker.submit(lambda: work(self._ready.result()))


def _details(core: Core, slot: int) -> SlotDetails:
    if not 0 <= slot < len(core.slots):
        raise BackendError(f"there is no slot {slot}")
    return core.details(slot)


def _more_facts(flags: EngineFlags, served_at: str | None) -> dict[str, str]:
    """What the core does not know: the name that the model goes by (the first alias, as over HTTP), and the address."""
    facts = {"model": min(flags.http.aliases, default=""), "served_at": served_at or ""}
    return {name: value for name, value in facts.items() if value}
