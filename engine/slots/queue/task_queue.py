"""The main and the deferred queue (spec §5.1, §5.5)."""

from __future__ import annotations

from collections.abc import Iterable

from .job import ActionJob, CompletionJob, Job
from .line import Line

__all__ = ["TaskQueue", "Waiting"]

Waiting = CompletionJob | ActionJob


class TaskQueue:
    """Task ids come from one counter. Only a release takes from the deferred queue."""

    def __init__(self, next_id: int = 0) -> None:
        self.main: Line[Job] = Line()
        self.deferred: Line[Waiting] = Line()
        self.next_id = next_id

    def take_id(self) -> int:
        """Return the next task id."""
        self.next_id += 1
        return self.next_id - 1

    def post(self, job: Job) -> None:
        """Put a job at the back."""
        self.main.append(job)

    def post_front(self, jobs: Iterable[Job]) -> None:
        """Put jobs at the front, one after the other, so that the last comes first."""
        self.main.extendleft(jobs)

    def defer(self, job: Waiting) -> None:
        """Let a job wait for a release."""
        self.deferred.append(job)

    def wake_one(self, slot: int) -> None:
        """A slot was released: the first job pinned to it, else the first job, goes to the front of main."""
        if self.deferred:
            self.main.appendleft(self.deferred.pop_pinned(slot) or self.deferred.popleft())

    def wake_all(self) -> None:
        """Everything deferred goes to the front of main, its order kept."""
        self.main.extendleft(reversed(list(self.deferred)))
        self.deferred.clear()

    def remove(self, task: int) -> Waiting | None:
        """Take a waiting job out of both queues and return it."""
        job = self.main.take(task) or self.deferred.take(task)
        return job if isinstance(job, Waiting) else None

    def remove_child(self, task: int) -> CompletionJob | None:
        """Take a child that waits with its parent from it and return it."""
        return self.main.take_child(task) or self.deferred.take_child(task)

    def waiting(self) -> list[Waiting]:
        """Deferred jobs and those not looked at yet, in order."""
        return [*self.deferred, *(job for job in self.main if isinstance(job, Waiting))]
