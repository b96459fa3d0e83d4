"""Records a backend in the background while it is being watched."""

from __future__ import annotations

from pathlib import Path
from threading import Event, Thread

from ..backend import Backend, BackendError
from .recorder import Recorder

__all__ = ["Tape"]


class Tape:
    """Writes a backend's snapshots and events into a new file until it is closed, in a thread of its own.

    ``every``: seconds between two looks at the backend. Raises `BackendError` if the file cannot be created. ``error``
    says in one line why the recording stopped early; it is set by the thread, so read it after `close`.
    """

    def __init__(self, backend: Backend, path: str | Path, every: float = 0.25) -> None:
        self.error: str | None = None
        self._backend = backend
        self._recorder = Recorder(path)
        self._every = every
        self._closing = Event()
        self._thread = Thread(target=self._run, name="slotview-tape", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Write what is left, and close the file."""
        self._closing.set()
        self._thread.join()

    def _run(self) -> None:
        cursor = 0
        with self._recorder as recorder:
            while self.error is None:
                is_last = self._closing.wait(self._every)
                batch = self._backend.events(cursor)
                cursor = batch.cursor
                try:
                    recorder.write(self._backend.latest(), batch.events)
                except BackendError as error:
                    self.error = str(error)
                if is_last:
                    return
