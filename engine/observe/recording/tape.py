"""Records a backend in the background while it is being watched."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread

from slotview.engine.backend import Backend, BackendError

from .recorder import Recorder

__all__ = ["Tape"]


class Tape:
    """Writes a backend's snapshots and events into a new file until it is closed, in a thread of its own.

    ``every``: seconds between two looks at the backend. Raises `BackendError` if the file cannot be created. ``error``
    says in one line why the recording stopped early; it is set by the thread, so read it after `close`. ``tell`` hears
    it at once, in that thread.
    """

    def __init__(
        self, backend: Backend, path: str | Path, every: float = 0.25, tell: Callable[[str], None] = lambda _: None
    ) -> None:
        self.error: str | None = None
        self._backend = backend
        self._recorder = Recorder(path)
        self._every = every
        self._tell = tell
        self._closing = Event()
        self._thread = Thread(target=self._run, name="slotview-tape", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Write what is left, and close the file."""
        self._closing.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            with self._recorder as recorder:
                self._follow(recorder)
        except BackendError as error:
            self.error = str(error)
            self._tell(self.error)

    def _follow(self, recorder: Recorder) -> None:
        cursor, is_last = 0, False
        while not is_last:
            is_last = self._closing.wait(self._every)
            batch = self._backend.events(cursor)
            cursor = batch.cursor
            recorder.write(self._backend.latest(), batch.events)
