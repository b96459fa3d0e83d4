"""How tasks end: by a stop condition, an error, or a cancel (spec §4.4, §5.6)."""

from __future__ import annotations

from collections.abc import Iterable

from slotview.engine.events import TaskEnded

from ..queue.cancel_order import cancel_order
from ..queue.job import ActionJob, CancelJob, CompletionJob, Request
from ..queue.task import Failed, StopType
from ..report import answer
from ..report.timing_lines import timing_lines
from ..slot import Phase, Slot
from ..state import CoreState

__all__ = ["Endings"]

SERVER_ERROR = (500, "server_error")
INVALID_REQUEST = (400, "invalid_request_error")


class Endings:
    """Every task passes here exactly once on its way out."""

    def __init__(self, state: CoreState) -> None:
        self._state = state

    def finish(self, slot: Slot) -> None:
        """Normal end: timing lines, final answer, release."""
        state = self._state
        if state.log.info:
            for line in timing_lines(slot.timings(), state.graphs.reused):
                state.log.slot("I", "print_timing", slot, line)
        state.emit(answer.final(slot, self._word_length(slot)))
        slot.finished_text = bytes(slot.text)
        self._tell_end(slot, slot.stop.value)
        self._release(slot)

    def _word_length(self, slot: Slot) -> int:
        """Tokens of a stop word spelled on its own, whose probabilities are left out."""
        if not slot.probs or slot.stop is not StopType.WORD:
            return 0
        return len(self._state.tokenizer.encode(slot.stopping_word, add_special=False))

    def fail(self, slot: Slot, message: str, kind: tuple[int, str] = SERVER_ERROR, n_ctx: int | None = None) -> None:
        """End a running task by an error, and with it the other tasks of its request."""
        job = slot.job
        assert job is not None
        self._send_error(job, message, kind, n_ctx)
        self._tell_end(slot, "error", message)
        self._release(slot)
        self.give_up(job.request)

    def fail_job(self, job: CompletionJob | ActionJob, message: str, kind: tuple[int, str] = INVALID_REQUEST) -> None:
        """End a task that has no slot by an error; the rest of its request is the caller's to `give_up`."""
        self._send_error(job, message, kind, None)

    def _send_error(
        self, job: CompletionJob | ActionJob, message: str, kind: tuple[int, str], n_ctx: int | None
    ) -> None:
        self._state.log.srv("E", "send_error", f"task id = {job.task}, error: {message}")
        index = job.index if isinstance(job, CompletionJob) else 0
        n_prompt = len(job.prompt) if isinstance(job, CompletionJob) and n_ctx is not None else None
        self._state.emit(Failed(job.task, index, *kind, message, n_prompt, n_ctx))

    def give_up(self, request: Request) -> None:
        """Whoever reads the answers stops at the first error and cancels all tasks of the request (spec §5.6)."""
        if not request.is_given_up:
            request.is_given_up = True
            self.cancel(cancel_order(request.tasks, request.n_prompts))

    def cancel(self, tasks: Iterable[int]) -> None:
        """Ask for the end of tasks, ended ones included.

        It comes at the next step boundary, but those that wait leave the queue now, so that no release wakes them.
        """
        tasks = tuple(tasks)
        for task in tasks:
            self._state.log.srv("W", "stop", f"cancel task, id_task = {task}")
            self._drop_waiting(task)
        self._state.queue.post_front(CancelJob(task) for task in tasks)

    def cancel_now(self, task: int) -> None:
        """Carry a cancel out, wherever the task is; nothing happens when it is over."""
        for slot in self._state.slots:
            if slot.job is not None and slot.job.task == task:
                self._cancel_slot(slot, slot.job)
                return
        self._drop_waiting(task)

    def _drop_waiting(self, task: int) -> None:
        """Take a task out of the queues, where it waits."""
        job = self._state.queue.remove(task)
        if isinstance(job, CompletionJob):
            self.drop((job, *job.children))
        elif job is not None:
            self._state.emit(answer.cancelled(task, 0))
        elif child := self._state.queue.remove_child(task):
            self.drop((child,))

    def drop(self, jobs: Iterable[CompletionJob]) -> None:
        """End tasks that have no slot and stand in no queue, as cancelled."""
        for job in jobs:
            self._state.emit(answer.cancelled(job.task, job.index))

    def _cancel_slot(self, slot: Slot, job: CompletionJob) -> None:
        self._state.emit(answer.cancelled(job.task, job.index))
        self._tell_end(slot, "cancel")
        self._release(slot)
        for child in self._state.slots:
            if child.job is not None and child.waits_for(job.task):
                self._cancel_slot(child, child.job)

    def abort_all(self, message: str, clear: bool = True) -> int:
        """End every running task by a 500 and empty its slot, since nobody knows how much of the batch was done."""
        busy = self._state.busy()
        for slot in busy:
            self.fail(slot, message)
            if clear:
                self._state.clear(slot)
        return len(busy)

    def _tell_end(self, slot: Slot, reason: str, error: str | None = None) -> None:
        job = slot.job
        assert job is not None
        self._state.tell(
            TaskEnded(
                time=self._state.now / 1e6,
                slot=slot.id,
                task=job.task,
                reason=reason,
                n_decoded=slot.n_gen,
                n_prompt=job.n_prompt,
                truncated=slot.truncated,
                prompt_seconds=slot.prompt_us / 1e6,
                generation_seconds=slot.gen_us / 1e6,
                n_cached=slot.n_prompt_cached,
                error=error,
            )
        )

    def _release(self, slot: Slot) -> None:
        """Free the slot, keep its tokens, and wake one deferred task."""
        state, job = self._state, slot.job
        assert job is not None
        text = f"stop processing: n_tokens = {slot.n_tokens}, truncated = {int(slot.truncated)}"
        state.log.slot("I", "release", slot, text)
        slot.t_last_used = state.stamp_release()
        slot.phase = Phase.IDLE
        if job.parent is not None:
            state.clear(slot)
        if slot.n_gen > 0:
            state.metrics.book_generation(slot.n_gen, slot.gen_us)
        slot.last_task, slot.last_params, slot.last_text = job.task, job.params, bytes(slot.text)
        slot.last_prompt = job.prompt
        slot.job = slot.sampler = None
        slot.reset()
        if not state.is_static:
            state.queue.wake_one(slot.id)
