"""Threads that compute shares of one step at the same time; NumPy lets go of the interpreter while it calculates."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from weakref import finalize

import numpy as np

__all__ = ["Crew", "usable_cores"]

Task = Callable[[], object]


def usable_cores() -> int:
    """Cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


class _Helper:
    """A thread that does one task at a time. Arithmetic warnings are off in it."""

    def __init__(self) -> None:
        self._go = threading.Lock()
        self._done = threading.Lock()
        self._go.acquire()
        self._done.acquire()
        self._task: Task | None = None
        self._error: BaseException | None = None
        threading.Thread(target=self._serve, name="slotview-model", daemon=True).start()

    def start(self, task: Task | None) -> None:
        """Begin a task; None ends the thread."""
        self._task = task
        self._go.release()

    def wait(self) -> BaseException | None:
        """Wait for the end of the task; returns what it raised."""
        self._done.acquire()
        error, self._error = self._error, None
        return error

    def _serve(self) -> None:
        with np.errstate(all="ignore"):
            while True:
                self._go.acquire()
                task, self._task = self._task, None
                if task is None:
                    return
                try:
                    task()
                except BaseException as error:
                    self._error = error
                del task
                self._done.release()


def _dismiss(helpers: Sequence[_Helper]) -> None:
    for helper in helpers:
        helper.start(None)


class Crew:
    """The calling thread and ``size - 1`` helpers, which end when the crew is forgotten."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._helpers = [_Helper() for _ in range(size - 1)]
        finalize(self, _dismiss, self._helpers)

    def run(self, tasks: Sequence[Task]) -> None:
        """Do at most ``size`` tasks at the same time and wait for all; raises what one of them raised."""
        busy = self._helpers[: len(tasks) - 1]
        for helper, task in zip(busy, tasks[1:], strict=True):
            helper.start(task)
        errors: list[BaseException | None] = []
        try:
            tasks[0]()
        finally:
            errors += [helper.wait() for helper in busy]
        for error in errors:
            if error is not None:
                raise error
