"""A request fired from here, as the screen follows it; filled by the engine's thread, read by the screen's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING

from .backend import RequestState, RequestView
from .pace import microseconds

if TYPE_CHECKING:
    from .slots.task import Final, Partial, Result

__all__ = ["LocalTicket"]


class LocalTicket:
    """A request in the embedded engine (the `Ticket` protocol of the backend)."""

    def __init__(self, number: int, prompt: str, cancel: Callable[[Sequence[int]], None]) -> None:
        self._lock = Lock()
        self._cancel = cancel
        self._view = RequestView(number, RequestState.WAITING, prompt, fired_at=microseconds() / 1e6)
        self._text: list[str] = []
        self._taken = 0
        self._first_token_at: float | None = None

    @property
    def number(self) -> int:
        """Its number among those fired from here, from 1."""
        return self._view.number

    def view(self) -> RequestView:
        """Return its present state."""
        return self._view

    def take(self) -> str:
        """Return the text that came since the last call."""
        with self._lock:
            fresh = "".join(self._text[self._taken :])
            self._taken = len(self._text)
            return fresh

    def text(self) -> str:
        """Return all text so far."""
        with self._lock:
            return "".join(self._text)

    def cancel(self) -> None:
        """Give it up; its slot is freed at the next step boundary."""
        task = self._view.task
        if self._view.state.is_over:
            return
        if task is None:
            self.fail("cancelled before it was queued", cancelled=True)
        else:
            self._cancel([task])

    def queued(self, task: int) -> bool:
        """Note its task's id; False when it was cancelled meanwhile."""
        with self._lock:
            if self._view.state.is_over:
                return False
            if self._view.task is None:
                self._view = replace(self._view, task=task)
            return True

    def fail(self, why: str, *, status: int | None = None, cancelled: bool = False) -> None:
        """End it without an answer."""
        with self._lock:
            if self._view.state.is_over:
                return
            state = RequestState.CANCELLED if cancelled else RequestState.FAILED
            total = microseconds() / 1e6 - self._view.fired_at
            self._view = replace(self._view, state=state, finish=why, status=status, total_seconds=total)

    def receive(self, results: Sequence[Result]) -> None:
        """Take results in; called by the engine's thread."""
        from .slots.task import Failed, Final, Partial, Requeued, Started

        for result in results:
            if isinstance(result, Partial):
                self._generated(result)
            elif isinstance(result, Started):
                self._started(result.slot, result.n_prompt, result.n_cached)
            elif isinstance(result, Requeued):
                self._requeued()
            elif isinstance(result, Final):
                self._finished(result)
            elif isinstance(result, Failed):
                self.fail(result.message, status=result.status, cancelled=result.cancelled)

    def _started(self, slot: int, n_prompt: int, n_cached: int) -> None:
        with self._lock:
            view = self._view
            waited = microseconds() / 1e6 - view.fired_at if view.queue_wait is None else view.queue_wait
            state = RequestState.PROMPT if view.n_decoded is None else RequestState.GENERATING
            if view.n_prompt is not None:  # started again after the engine was rebuilt
                n_prompt, n_cached = view.n_prompt, view.n_cached or 0
            self._view = replace(view, state=state, slot=slot, queue_wait=waited, n_prompt=n_prompt, n_cached=n_cached)

    def _requeued(self) -> None:
        with self._lock:
            if not self._view.state.is_over:
                self._view = replace(self._view, state=RequestState.WAITING, slot=None)

    def _generated(self, result: Partial) -> None:
        now = microseconds() / 1e6
        with self._lock:
            if self._first_token_at is None:
                self._first_token_at = now
                self._view = replace(self._view, first_token=now - self._view.fired_at)
            if result.text:
                self._text.append(result.text)
            self._view = replace(
                self._view,
                state=RequestState.GENERATING,
                n_decoded=result.n_decoded,
                tokens_per_second=_rate(result.n_decoded, round((now - self._first_token_at) * 1e6)),
            )

    def _finished(self, result: Final) -> None:
        with self._lock:
            if result.tail:
                self._text.append(result.tail)
            self._view = replace(
                self._view,
                state=RequestState.DONE,
                slot=result.slot,
                n_prompt=result.n_prompt if self._view.n_prompt is None else self._view.n_prompt,
                n_decoded=result.n_decoded,
                tokens_per_second=_rate(result.n_decoded, result.timings.predicted_us),
                total_seconds=microseconds() / 1e6 - self._view.fired_at,
                finish=str(result.stop_type),
                truncated=result.truncated,
            )


def _rate(n_decoded: int, duration_us: int) -> float | None:
    """Tokens per second after the first one, which belongs to the prompt (spec §7.11)."""
    return (n_decoded - 1) * 1e6 / duration_us if n_decoded > 1 and duration_us > 0 else None
