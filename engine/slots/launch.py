"""Handing a task to a slot (spec §4.3, §5.2), and publishing the idle ones (spec §5.3)."""

from __future__ import annotations

from collections.abc import Sequence

from ..events import TaskDeferred, TaskStarted
from ..model.sampling import Sampler, SamplerError
from .chooser import Chooser
from .decode.ending import Endings
from .queue.job import CompletionJob
from .report.sampler_lines import chain_line, params_text
from .slot import Phase, Slot
from .state import CoreState

__all__ = ["Launching"]


class Launching:
    """Finds slots for a completion and starts it, or defers it."""

    def __init__(self, state: CoreState, endings: Endings) -> None:
        self._state = state
        self._endings = endings
        self._chooser = Chooser(state)
        self._taking = True  # static batching: whether the batch still takes requests

    def open_batch(self) -> None:
        """Static batching: take requests again once everything is idle, the waiting ones first."""
        self._taking = not self._state.any_busy()
        if self._taking:
            self._state.queue.wake_all()

    def handle(self, job: CompletionJob) -> None:
        """Start the task in the slot it gets, or let it wait."""
        state = self._state
        if state.is_static and not self._taking:
            self._defer(job, "the batch is running")
            return
        slot = self._chooser.choose(job, state.now)
        if slot is None:
            self._defer(job, "no slot is available" if job.pin == -1 else "requested slot is unavailable")
            return
        free = [other for other in state.slots if not other.phase and other is not slot]
        if len(free) < len(job.children):
            self._defer(job, "not enough free slots for child tasks")
            return
        started = self._start_family(slot, free, job) if job.children else self._start(slot, job, "")
        if not started:
            self._endings.give_up(job.request)
        if started and state.publishes_idle_slots:
            self._publish()

    def _defer(self, job: CompletionJob, why: str) -> None:
        state = self._state
        state.log.que(f"{why}, defer task, id_task = {job.task}")
        state.tell(TaskDeferred(state.now / 1e6, job.task, None if job.pin == -1 else job.pin))
        state.queue.defer(job)

    def _start_family(self, slot: Slot, free: Sequence[Slot], job: CompletionJob) -> bool:
        """Start the children in free slots, then the parent in its own; False where one cannot be started."""
        text = f"launching slots for parent task id_task = {job.task} with {len(job.children)} child tasks"
        self._state.log.srv("T", "launch_slots_with_parent_task", text)
        for child, room in zip(job.children, free, strict=False):
            if not self._start(room, child, "child "):
                self._state.log.srv("E", "process_single_task", self._failed(job.task, "parent "))
                self._endings.drop((job, *job.children[job.children.index(child) + 1 :]))
                return False
        return self._start(slot, job, "parent ")

    def _start(self, slot: Slot, job: CompletionJob, kind: str) -> bool:
        """Start one task, or end it with an error; ``kind`` is what the log calls it."""
        error = self._launch(slot, job)
        if error is not None:
            self._endings.fail_job(job, error)
            where = "launch_slots_with_parent_task" if kind == "child " else "process_single_task"
            self._state.log.srv("E", where, self._failed(job.task, kind))
        return error is None

    @staticmethod
    def _failed(task: int, kind: str) -> str:
        return f"failed to launch slot with {kind}task, id_task = {task}"

    def _launch(self, slot: Slot, job: CompletionJob) -> str | None:
        """Attach the task; returns why it cannot be."""
        state = self._state
        if len(job.prompt) and (job.prompt.min() < 0 or job.prompt.max() >= state.model.n_vocab):
            return "Prompt contains invalid tokens"
        sampler = None if job.resume is None else job.resume.sampler
        if sampler is None:
            try:
                sampler = Sampler(job.params.sampling, state.tokenizer)
            except SamplerError as error:
                return f"Failed to initialize samplers: {error}"
        self._tell_sampler(slot, job)
        self._attach(slot, job, sampler)
        return None

    def _attach(self, slot: Slot, job: CompletionJob, sampler: Sampler) -> None:
        """The slot belongs to the task from now on."""
        state, asked = self._state, job.params.n_predict
        slot.sampler = sampler
        slot.n_predict_max = state.options.n_predict if asked is None or asked == -1 else asked
        slot.job = job
        slot.started_at = state.now
        if job.resume is not None:
            job.resume.put(slot)
        is_child = job.parent is not None
        slot.phase = Phase.WAIT_OTHER if is_child else Phase.STARTED
        state.log.slot("I", "launch_slot_with_task", slot, f"processing task, is_child = {int(is_child)}")
        waited = (state.now - job.posted) / 1e6
        state.tell(TaskStarted(state.now / 1e6, slot.id, job.task, waited, job.n_prompt))

    def _tell_sampler(self, slot: Slot, job: CompletionJob) -> None:
        log, params = self._state.log, job.params.sampling
        if log.trace:
            log.slot("T", "launch_slot_with_task", slot, f"sampler chain: {chain_line(params)}")
            log.slot("T", "launch_slot_with_task", slot, f"sampler params: \n{params_text(params)}")

    def _publish(self) -> None:
        """Copy all idle slots to the prompt store; in unified mode empty them, whether anything was stored or not."""
        state, store = self._state, self._state.store
        assert store is not None
        for slot in state.slots:
            if slot.phase:
                continue
            state.log.slot("T", "process_single_task", slot, "saving idle slot to prompt cache")
            if store.save(slot):
                store.trim()
            if state.plan.unified:
                state.clear(slot)
