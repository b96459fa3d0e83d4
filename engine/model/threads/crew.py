"""Threads that compute shares of one step at the same time; NumPy lets go of the interpreter while it calculates."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from weakref import finalize

import numpy as np

from .gates import new_gate

__all__ = ["Crew", "usable_cores"]

Task = Callable[[], object]
LATE = 1e-3
"""Seconds of waiting for a helper, beyond twice the own share, that mean that somebody else has its core."""
FIRST_PAUSE, LONGEST_PAUSE = 64, 8192
"""Runs done alone after that, more each time in a row: where every hand-over costs a time slice of the operating
system, one thread is far quicker than two."""


def usable_cores() -> int:
    """Cores this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    else:  # noqa: RET505 (mypy leaves out what another system runs only in branches)
        return os.cpu_count() or 1


class _Helper:
    """A thread that sleeps between shifts and does one task at a time during them, without arithmetic warnings."""

    def __init__(self) -> None:
        self._wake = threading.Semaphore(0)
        self._go = new_gate()
        self._done = new_gate()
        self._task: Task | None = None
        self._error: BaseException | None = None
        self._on_shift = False
        self._leaving = False
        self._dismissed = False
        threading.Thread(target=self._serve, name="slotview-model", daemon=True).start()

    def start(self, task: Task) -> None:
        """Begin a task; the first one begins a shift."""
        if not self._on_shift:
            self._begin_shift()
        self._task = task
        self._go.open()

    def wait(self) -> BaseException | None:
        """Wait for the end of the task; returns what it raised."""
        self._done.wait()
        error, self._error = self._error, None
        return error

    def _begin_shift(self) -> None:
        if self._leaving:
            self._done.wait()
        self._leaving, self._on_shift = False, True
        self._wake.release()

    def end_shift(self) -> None:
        """Let the thread sleep, if it was needed at all. That it has left is checked when the next shift begins."""
        if self._on_shift:
            self._leaving, self._on_shift = True, False
            self._task = None
            self._go.open()

    def dismiss(self) -> None:
        """End the thread. Only between shifts."""
        self._dismissed = True
        self._wake.release()

    def _serve(self) -> None:
        with np.errstate(all="ignore"):
            while self._wake.acquire() and not self._dismissed:
                self._work_shift()

    def _work_shift(self) -> None:
        while True:
            self._go.wait()
            task = self._task
            if task is None:
                self._done.open()
                return
            try:
                task()
            except BaseException as error:
                self._error = error
            self._done.open()


def _dismiss(helpers: Sequence[_Helper]) -> None:
    for helper in helpers:
        helper.dismiss()


class Crew:
    """The calling thread and ``size - 1`` helpers, which end when the crew is forgotten."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._helpers = [_Helper() for _ in range(size - 1)]
        self._alone = 0
        self._pause = FIRST_PAUSE
        finalize(self, _dismiss, self._helpers)

    @contextmanager
    def shift(self) -> Iterator[None]:
        """While inside, helpers that had a task wait for the next one with their cores busy, so as not to delay it."""
        try:
            yield
        finally:
            for helper in self._helpers:
                helper.end_shift()

    def run(self, tasks: Sequence[Task]) -> None:
        """Do at most ``size`` tasks at the same time and wait for all; raises what one raised. Only inside a shift.

        Where helpers come late because the cores are busy with something else, the calling thread does them all for a
        while.
        """
        if len(tasks) == 1:
            tasks[0]()
            return
        if self._alone:
            self._alone -= 1
            for task in tasks:
                task()
            return
        busy = self._helpers[: len(tasks) - 1]
        for helper, task in zip(busy, tasks[1:], strict=True):
            helper.start(task)
        errors: list[BaseException | None] = []
        begun = perf_counter()
        done = begun
        try:
            tasks[0]()
            done = perf_counter()
        finally:
            errors += [helper.wait() for helper in busy]
        if busy:
            self._judge(done - begun, perf_counter() - done)
        for error in errors:
            if error is not None:
                raise error

    def _judge(self, worked: float, waited: float) -> None:
        """Decide from the seconds of one run whether to go on together."""
        if waited <= 2 * worked + LATE:
            self._pause = FIRST_PAUSE
            return
        self._alone = self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
