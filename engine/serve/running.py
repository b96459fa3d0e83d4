"""One request in flight: its tasks, and their results brought into the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress

from ..embedded.host import EngineHost
from ..model.interface import TokenIds
from ..slots.queue.cancel_order import cancel_order
from ..slots.queue.task import ActionTask, Failed, Result, TaskParams

__all__ = ["RunningRequest"]

MOST_BEHIND = 65536
"""Results that wait for a reader at most: a run can be endless, and one that nobody reads would fill the memory."""


class RunningRequest:
    """Post once, then iterate over the results; whatever happens, `close` leaves no task behind."""

    def __init__(self, host: EngineHost) -> None:
        self._host = host
        self._loop = asyncio.get_running_loop()
        self._arrived: asyncio.Queue[Sequence[Result]] = asyncio.Queue()
        self._ready: list[Result] = []
        self._order: list[int] = []
        self._open: set[int] = set()
        self._is_behind = False

    def post(self, prompts: Sequence[TokenIds], params: TaskParams) -> None:
        """Hand the request in."""
        self._order = cancel_order(self._host.post(prompts, params, self._sink), len(prompts))
        self._open = set(self._order)

    def post_action(self, action: ActionTask) -> None:
        """Hand a slot action in."""
        self._order = [self._host.post_action(action, self._sink)]
        self._open = set(self._order)

    def _sink(self, results: Sequence[Result]) -> None:
        """Called by the engine's thread."""
        if self._is_behind:
            return
        if self._arrived.qsize() >= MOST_BEHIND:
            self._is_behind = True
            self._host.cancel(self._order)
            results = [Failed(self._order[0], 0, 500, "server_error", "the answer was not read for too long")]
        with suppress(RuntimeError):  # the loop is closed: nobody listens any more
            self._loop.call_soon_threadsafe(self._arrived.put_nowait, results)

    @property
    def is_over(self) -> bool:
        """Whether every task has ended."""
        return not self._open and not self._ready

    async def next(self, timeout: float | None = None) -> Result:
        """Wait for the next result. Raises `TimeoutError`."""
        if not self._ready:
            if not self._arrived.empty():  # a reader that lags behind: others, and the news that it is gone, come first
                await asyncio.sleep(0)
            async with asyncio.timeout(timeout):
                self._ready = list(reversed(await self._arrived.get()))
        result = self._ready.pop()
        if result.is_last:
            self._open.discard(result.task)
            if isinstance(result, Failed):
                self._open = set()  # an error in one output has ended the others
        return result

    async def results(self) -> AsyncIterator[Result]:
        """All results until the last task ended."""
        while not self.is_over:
            yield await self.next()

    def close(self) -> None:
        """Give up what is still running, by asking for the end of all tasks in the server's order."""
        if self._open:
            self._host.cancel(self._order)
            self._open = set()
