"""Jobs that wait in a line, of which any can be taken out at once, however long the line is."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from .job import CancelJob, CompletionJob, Job

__all__ = ["Line"]

AnyJob = TypeVar("AnyJob", bound=Job)


class Line(Generic[AnyJob]):
    """Jobs in order. A cancel is known by itself, any other job by its task."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[object, AnyJob] = OrderedDict()
        self._parents: dict[int, CompletionJob] = {}
        self._pins: Counter[int] = Counter()

    def __len__(self) -> int:
        return len(self._jobs)

    def __iter__(self) -> Iterator[AnyJob]:
        return iter(self._jobs.values())

    def append(self, job: AnyJob) -> None:
        """Put a job at the back."""
        self._jobs[_key(job)] = job
        self._pins[job.pin] += 1
        if isinstance(job, CompletionJob):
            self._parents.update(dict.fromkeys((child.task for child in job.children), job))

    def appendleft(self, job: AnyJob) -> None:
        """Put a job at the front."""
        self.append(job)
        self._jobs.move_to_end(_key(job), last=False)

    def extendleft(self, jobs: Iterable[AnyJob]) -> None:
        """Put jobs at the front, one after the other, so that the last comes first."""
        for job in jobs:
            self.appendleft(job)

    def popleft(self) -> AnyJob:
        """Take the first job."""
        _, job = self._jobs.popitem(last=False)
        return self._left(job)

    def pop_pinned(self, slot: int) -> AnyJob | None:
        """Take the first job that is pinned to a slot; None = there is none."""
        if not self._pins[slot]:
            return None
        key, job = next((key, job) for key, job in self._jobs.items() if job.pin == slot)
        del self._jobs[key]
        return self._left(job)

    def take(self, task: int) -> AnyJob | None:
        """Take the job of a task; None = it does not stand here."""
        job = self._jobs.pop(task, None)
        return None if job is None else self._left(job)

    def take_child(self, task: int) -> CompletionJob | None:
        """Take a child from its parent, which stays; None = no parent of it stands here."""
        parent = self._parents.pop(task, None)
        if parent is None:
            return None
        child = next(child for child in parent.children if child.task == task)
        parent.children.remove(child)
        return child

    def clear(self) -> None:
        """Forget all jobs."""
        self._jobs.clear()
        self._parents.clear()
        self._pins.clear()

    def _left(self, job: AnyJob) -> AnyJob:
        self._pins[job.pin] -= 1
        if isinstance(job, CompletionJob):
            for child in job.children:
                self._parents.pop(child.task, None)
        return job


def _key(job: Job) -> object:
    return job if isinstance(job, CancelJob) else job.task
