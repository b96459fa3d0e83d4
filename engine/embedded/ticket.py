"""A request to the embedded engine: its parameters, and how the screen follows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..backend import FireRequest, RequestState
from ..flags import EngineFlags
from ..pace import seconds
from ..ticket import BaseTicket

if TYPE_CHECKING:
    from ..slots.queue.task import Final, Partial, Result, TaskParams

__all__ = ["LocalTicket", "task_params"]


def task_params(request: FireRequest, flags: EngineFlags) -> TaskParams:
    """The parameters of a request's tasks; what is None is left to the flags."""
    from ..slots.queue.task import TaskParams

    sampling = flags.sampling
    if request.temperature is not None:
        sampling = replace(sampling, temperature=max(0.0, request.temperature))
    if request.seed is not None:
        sampling = replace(sampling, seed=request.seed & 0xFFFFFFFF)
    if request.ignore_eos:
        sampling = replace(sampling, ignore_eos=True)
    return TaskParams(
        n_predict=request.n_predict,
        cache_prompt=flags.cache_prompt,
        n_keep=flags.n_keep,
        n_cache_reuse=flags.cache_reuse,
        id_slot=-1 if request.id_slot is None else request.id_slot,
        stream=True,
        stop=flags.reverse_prompt,
        sampling=sampling,
    )


class _Tempo:
    """Speed of an answer over its spells: each begins with a token that came with a prompt, and whose time is none."""

    def __init__(self) -> None:
        self._tokens, self._seconds = 0, 0.0
        self._first: tuple[int, float] | None = None
        self._last = (0, 0.0)

    def add(self, n_decoded: int, at: float) -> float | None:
        """Take in a count; return tokens per second, None until a spell has two."""
        self._last = (n_decoded, at)
        first, begun = self._first = self._first or self._last
        return _rate(self._tokens + n_decoded - first, self._seconds + at - begun)

    def pause(self) -> None:
        """The spell is over; the next count begins another."""
        if self._first is not None:
            self._tokens += self._last[0] - self._first[0]
            self._seconds += self._last[1] - self._first[1]
            self._first = None


class LocalTicket(BaseTicket):
    """Implements `Ticket` over the results of one task; ``cancel`` gives tasks up."""

    def __init__(self, number: int, prompt: str, cancel: Callable[[Sequence[int]], None]) -> None:
        super().__init__(number, prompt, seconds)
        self._cancel = cancel
        self._tempo = _Tempo()

    def cancel(self) -> None:
        """Give it up; its slot is freed at the next step boundary."""
        task = self._view.task
        if self._view.state.is_over:
            return
        if task is None:
            self._end_early(RequestState.CANCELLED, "cancelled before it was queued")
        else:
            self._cancel([task])

    def queued(self, task: int) -> bool:
        """Note its task's id; False when it was cancelled meanwhile."""
        with self._lock:
            if self._view.state.is_over:
                return False
            if self._view.task is None:
                self._change(task=task)
            return True

    def receive(self, results: Sequence[Result]) -> None:
        """Take results in; called by the engine's thread."""
        from ..slots.queue.task import Failed, Final, Partial, Requeued, Started

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
                state = RequestState.CANCELLED if result.cancelled else RequestState.FAILED
                self._end_early(state, result.message, result.status)

    def _started(self, slot: int, n_prompt: int, n_cached: int) -> None:
        with self._lock:
            view, now = self._view, self._clock()
            if view.n_prompt is not None:  # started again after the engine was rebuilt
                n_prompt, n_cached = view.n_prompt, view.n_cached or 0
            self._change(
                state=RequestState.PROMPT if view.n_decoded is None else RequestState.GENERATING,
                slot=slot,
                queue_wait=view.waited(now),
                waits_since=None,
                n_prompt=n_prompt,
                n_cached=n_cached,
            )

    def _requeued(self) -> None:
        with self._lock:
            if not self._view.state.is_over:
                self._tempo.pause()
                self._change(state=RequestState.WAITING, slot=None, waits_since=self._clock())

    def _generated(self, result: Partial) -> None:
        with self._lock:
            now = self._clock()
            if self._view.first_token is None:
                self._change(first_token=now - self._view.fired_at)
            if result.text:
                self._parts.append(result.text)
            self._change(
                state=RequestState.GENERATING,
                n_decoded=result.n_decoded,
                tokens_per_second=self._tempo.add(result.n_decoded, now),
            )

    def _finished(self, result: Final) -> None:
        times = result.timings
        with self._lock:
            if result.tail:
                self._parts.append(result.tail)
            self._end(
                RequestState.DONE,
                str(result.stop_type),
                slot=result.slot,
                n_prompt=result.n_prompt if self._view.n_prompt is None else self._view.n_prompt,
                n_decoded=result.n_decoded,
                tokens_per_second=_rate(result.n_decoded - times.n_untimed, times.predicted_us / 1e6),
                truncated=result.truncated,
            )


def _rate(n_timed: int, duration: float) -> float | None:
    """Tokens per second, without those that belong to a prompt (spec §7.11)."""
    return n_timed / duration if n_timed > 0 and duration > 0 else None
