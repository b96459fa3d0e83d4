"""The thread that runs the core: the one owner of the slots, for the dashboard, the HTTP face, or both.

The core is only touched under one lock, which is free while the model computes and while a paced step waits. So
posting, cancelling and looking are immediate; what changes the engine itself runs at a step boundary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from threading import Condition, Event, RLock, Thread
from typing import TYPE_CHECKING, TypeVar

from ..backend import BackendError
from ..events import EventRing, LogLine, Notice
from ..pace import DeviceProfile, microseconds, seconds
from ..snapshot import Snapshot

if TYPE_CHECKING:
    from ..model.interface import TokenIds
    from ..slots.core import Core, Piece
    from ..slots.queue.task import ActionTask, Result, TaskParams

__all__ = ["EngineHost", "Sink"]

T = TypeVar("T")
Sink = Callable[["Sequence[Result]"], None]

LAG_SMOOTHING = 0.1


class EngineHost:
    """Runs a `Core` in a thread of its own. Sinks are called in that thread and must return at once.

    Any thread may call the methods. ``profile``, ``lag`` and ``failure`` are single references, written by the
    engine's thread (``profile`` by `set_profile`) and read without the lock; the core itself is reached by `look` and
    `at_boundary`.
    """

    def __init__(self, core: Core, profile: DeviceProfile | None = None, ring: EventRing | None = None) -> None:
        self.core = core
        self.profile = profile
        self.lag: float | None = None
        self.failure: str | None = None
        self.ring = EventRing() if ring is None else ring
        self._lock = RLock()
        self._wake = Condition(self._lock)
        self._boundary: list[Callable[[], None]] = []
        self._sinks: dict[int, Sink] = {}
        self._interrupt = Event()
        self._published = core.snapshot(microseconds())
        self._wanted = True
        self._closing = False
        self._ended = False
        self._thread = Thread(target=self._run, name="slotview-engine", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    @property
    def is_running(self) -> bool:
        """Whether the thread still runs the core."""
        return self._thread.is_alive() and not self._closing

    def post(self, prompts: Sequence[TokenIds], params: TaskParams, sink: Sink) -> list[int]:
        """Post one request; its results go to ``sink``. Returns its task ids, one for each output."""
        with self._wake:
            tasks = self.core.post(prompts, params, microseconds())
            self._expect(tasks, sink)
        return tasks

    def post_action(self, action: ActionTask, sink: Sink) -> int:
        """Post a slot action; its result goes to ``sink``. Returns its task id."""
        with self._wake:
            task = self.core.post_action(action, microseconds())
            self._expect([task], sink)
        return task

    def _expect(self, tasks: Sequence[int], sink: Sink) -> None:
        """Let a sink have what comes of these tasks: after a failure of the engine that is an error, at once."""
        if self.failure:
            sink([self._lost(task, self.failure) for task in tasks])
            return
        self._sinks.update(dict.fromkeys(tasks, sink))
        self._wake.notify()

    def cancel(self, tasks: Sequence[int]) -> None:
        """Cancel tasks; their slots are freed at the next step boundary."""
        with self._wake:
            for task in tasks:
                self.core.cancel(task)
            self._wake.notify()

    def latest(self) -> Snapshot:
        """Return the last snapshot, and ask for a fresh one at the next half step. Never blocks."""
        self._wanted = True
        return self._published

    def look(self, read: Callable[[Core], T]) -> T:
        """Read something from the core now, even while the model computes."""
        with self._lock:
            return read(self.core)

    def at_boundary(self, work: Callable[[Core], T]) -> Future[T]:
        """Run ``work`` in the engine's thread between two steps. The future raises `BackendError` when it has ended."""
        future: Future[T] = Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(work(self.core))
            except Exception as error:
                future.set_exception(error)

        with self._wake:
            if self._ended:
                future.set_exception(BackendError(self.failure or "the engine has stopped"))
                return future
            self._boundary.append(run)
            self._interrupt.set()
            self._wake.notify()
        return future

    def replace(self, core: Core) -> None:
        """Go on with another core, which has taken over all tasks. Call this only from within `at_boundary`."""
        self.core = core

    def set_profile(self, profile: DeviceProfile | None) -> None:
        """Change the pace; a step that waits goes on at once."""
        self.profile, self.lag = profile, None
        self._interrupt.set()

    def close(self) -> None:
        """Stop the thread. Idempotent."""
        with self._wake:
            self._closing = True
            self._interrupt.set()
            self._wake.notify()
        if self._thread.is_alive():
            self._thread.join(timeout=2.0)

    def _run(self) -> None:
        try:
            while self._wait_for_work():
                self._iterate()
        except Exception as error:
            self._fail(error)
        with self._lock:
            self._ended = True
            for work in self._boundary:
                work()

    def _wait_for_work(self) -> bool:
        """Sleep while there is nothing to do; False when closing."""
        with self._wake:
            while not self._closing and not self._boundary and not self.core.has_work:
                self._wake.wait()
            return not self._closing

    def _iterate(self) -> None:
        """Run what was waiting for a boundary, then one iteration of the core."""
        with self._lock:
            waiting, self._boundary = self._boundary, []
            for work in waiting:
                work()
            if not self._closing:
                self._interrupt.clear()  # the step it was meant to end has ended, or there was none
        with self._lock:
            began = microseconds()
            piece = self.core.begin(began)
            self._publish(always=piece is None or self._lasts(piece))
        self._deliver()
        while piece is not None and not self._closing:
            self._compute(piece, began)
            with self._lock:
                began = microseconds()
                piece = self.core.settle(piece, began)
                if piece is not None or self.core.is_idle:  # else a task was woken and is seated first
                    self._publish(always=piece is None)
            self._deliver()

    def _lasts(self, piece: Piece) -> bool:
        """Whether a piece takes long enough to be worth showing: a paced one, or one with prompts."""
        return self.profile is not None or piece.n_prompt_tokens > 0

    def _publish(self, *, always: bool) -> None:
        """Build a snapshot if one was asked for, or if nothing will change for a while."""
        if self._wanted or always:
            self._wanted = False
            self._published = self.core.snapshot(microseconds())

    def _compute(self, piece: Piece, began: int) -> None:
        """Run the model without the lock, then wait until the paced device would be done."""
        self.core.compute(piece)
        profile = self.profile
        if profile is None:
            return
        wanted = profile.step_us(piece)
        taken = microseconds() - began
        if wanted > 0:
            lag = taken / wanted
            self.lag = lag if self.lag is None else self.lag + LAG_SMOOTHING * (lag - self.lag)
        if taken < wanted:
            self._interrupt.wait((wanted - taken) / 1e6)
            self._interrupt.clear()

    def _deliver(self) -> None:
        """Hand out what happened: events to the ring, results to their sinks."""
        with self._lock:
            events = self.core.take_events()
            results = self.core.take_results()
        if events:
            self.ring.extend(events)
        if results:
            self._hand_out(results)

    def _hand_out(self, results: Sequence[Result]) -> None:
        """Group results by sink, in order, and forget the sinks of tasks that ended."""
        grouped: dict[int, tuple[Sink, list[Result]]] = {}
        for result in results:
            sink = self._sinks.get(result.task)
            if sink is not None:
                grouped.setdefault(id(sink), (sink, []))[1].append(result)
        with self._lock:
            for result in results:
                if result.is_last:
                    self._sinks.pop(result.task, None)
        for sink, own in grouped.values():
            sink(own)

    def _fail(self, error: Exception) -> None:
        """Report that the engine itself broke, and end every open request with an error."""
        why, now = f"the engine stopped: {type(error).__name__}: {error}", seconds()
        self.ring.extend([Notice(now, why, "error"), LogLine(now, "E", f"srv  update_slots: {why}")])
        with self._lock:
            self.failure = why
            sinks, self._sinks = self._sinks, {}
        for task, sink in sinks.items():
            sink([self._lost(task, why)])

    @staticmethod
    def _lost(task: int, why: str) -> Result:
        from ..slots.queue.task import Failed

        return Failed(task, 0, 500, "server_error", why)
