"""Moving what runs and waits from one core to its successor with other flags."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ..backend import RetuneReport
from ..events import Event, Retuned
from ..text.plural import plural
from .queue.job import ActionJob, CancelJob, CompletionJob, Job
from .queue.task import Requeued, Result
from .report.metrics import Metrics
from .resume import Resume
from .slot import Phase, Slot
from .state import CoreState

__all__ = ["RunningJob", "TakenWork", "put_work", "take_work"]


class RunningJob(Struct, frozen=True, eq=False):
    """A job that had a slot, and the tokens of it that were in the KV."""

    job: CompletionJob
    n_computed: int


class TakenWork(Struct, frozen=True, eq=False):
    """Running jobs in order of arrival, then what waited in its order. Results, events and counters go on."""

    running: tuple[RunningJob, ...]
    waiting: tuple[Job, ...]
    next_id: int
    metrics: Metrics
    results: tuple[Result, ...]
    events: tuple[Event, ...]


def take_work(state: CoreState) -> TakenWork:
    """Take everything out of a core between two iterations; it is not to be used afterwards."""
    busy = state.busy()
    runs = (_running(slot, state.now) for slot in busy if not _is_waiting_child(slot))
    running = sorted(runs, key=lambda run: run.job.task)
    waiting = (*state.queue.waiting(), *(job for job in state.queue.main if isinstance(job, CancelJob)))
    for slot in busy:
        slot.job = slot.sampler = None
        slot.phase = Phase.IDLE
        slot.reset()
    state.queue.main.clear()
    state.queue.deferred.clear()
    state.metrics.book_prompt(state.now)
    taken = TakenWork(
        tuple(running), waiting, state.queue.next_id, state.metrics, tuple(state.results), tuple(state.events)
    )
    state.results.clear()
    state.events.clear()
    return taken


def _is_waiting_child(slot: Slot) -> bool:
    """A child that goes with its parent's job."""
    return slot.phase == Phase.WAIT_OTHER


def _running(slot: Slot, now: int) -> RunningJob:
    """The job that continues a slot's run: its prompt is what the slot has seen and sampled."""
    job = slot.job
    assert job is not None
    n_computed = slot.n_tokens if slot.phase > Phase.STARTED else 0
    if slot.n_gen == 0:
        return RunningJob(job, n_computed)
    seen = np.append(slot.held, np.int32(slot.sampled)) if slot.phase == Phase.GENERATING else job.prompt
    alone = replace(job.alone(), prompt=seen, resume=Resume.of(slot, now))
    return RunningJob(alone, n_computed)


def put_work(taken: TakenWork, state: CoreState) -> RetuneReport:
    """Queue everything in the new core, running requests first."""
    state.queue.next_id = taken.next_id
    state.metrics = taken.metrics
    state.metrics.begin_average()
    state.results[:0] = taken.results
    state.events[:0] = taken.events
    for run in taken.running:
        for each in (run.job, *run.job.children):
            each.posted = state.now
            state.emit(Requeued(each.task, each.index))
        _post(run.job, state)
    for job in taken.waiting:
        _post(job, state)
    report = _report(taken, state)
    state.tell(Retuned(state.now / 1e6, report.summary, report.n_requeued, report.n_tokens_again))
    return report


def _post(job: Job, state: CoreState) -> None:
    if isinstance(job, CancelJob):
        state.queue.post_front([job])
    elif isinstance(job, ActionJob):
        state.queue.post(job)
    else:
        for each in job.fitting(len(state.slots)):
            state.queue.post(each)


def _report(taken: TakenWork, state: CoreState) -> RetuneReport:
    """What the move did to running requests. A prompt that no longer fits ends as soon as it gets a slot."""
    limit = state.plan.slot_n_ctx
    fitting = [run for run in taken.running if len(run.job.prompt) < limit]
    n_again = sum(run.n_computed for run in fitting)
    n_ended = len(taken.running) - len(fitting)
    summary = f"{plural(len(fitting), 'running request')} queued again, {plural(n_again, 'token')} processed again"
    if not taken.running:
        summary = "no request was running"
    if n_ended:
        summary += f", {n_ended} no longer fit into {plural(limit, 'token')} and end"
    return RetuneReport(summary, len(fitting), n_again, n_ended)
