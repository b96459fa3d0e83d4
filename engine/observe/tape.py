"""Records what a backend tells while somebody watches it, in a thread of its own."""

from __future__ import annotations

from pathlib import Path
from threading import Event, Thread

from ..backend import Backend, BackendError
from .recorder import Recorder

__all__ = ["Tape"]


class Tape:
    """Writes a backend's snapshots and events into a new file until it is closed.

    ``every``: seconds between two looks. Raises `BackendError` where the file cannot be made. ``error`` tells why it
    stopped before the end, in one line.
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
        """Write what is still to be written, and end the file."""
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
