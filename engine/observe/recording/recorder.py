"""Writes what is watched as JSON lines, to be replayed later.

The first line names the format's version; every other line holds a snapshot, the events since the line before, or
both. Users, passwords and queries are removed from addresses. Snapshots never contain prompts or answers, and log
lines that might quote them are left out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from msgspec.structs import replace

from slotview.engine.backend import BackendError
from slotview.engine.events import Event, LogLine, RequestRefused
from slotview.engine.snapshot import Snapshot

from .codec import event_to, snapshot_to
from .scrub import scrub_all

__all__ = ["HEADER", "VERSION", "Recorder"]

VERSION = 1
HEADER = "slotview_recording"

_QUOTING = ("prompt", "old: ", "new: ", "generated", "request:", "response:", "content")
_LONGEST = 200  # characters of a refusal that quotes nothing


class Recorder:
    """Writes a recording into a new file, and closes it as a context manager. Raises `BackendError` if it cannot."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._last: Snapshot | None = None
        self._file: TextIO | None = None
        try:
            self._file = self._path.open("x", encoding="utf-8")
        except FileExistsError:
            raise BackendError(f"cannot record to {self._path}: there is such a file; choose another name") from None
        except OSError as error:
            raise BackendError(f"cannot record to {self._path}: {error.strerror}") from None
        self._line({HEADER: VERSION})

    def write(self, snapshot: Snapshot, events: Sequence[Event] = ()) -> None:
        """Add a snapshot and events; a snapshot that says nothing new is left out."""
        kept = [event_to(event) for event in events if _may_keep(event)]
        line: dict[str, Any] = {"events": kept} if kept else {}
        if self._is_news(snapshot):
            line["snapshot"] = snapshot_to(snapshot)
            self._last = snapshot
        if line:
            self._line(line)

    def _is_news(self, snapshot: Snapshot) -> bool:
        last = self._last
        return last is None or replace(snapshot, time=last.time, serial=last.serial) != last

    def _line(self, data: dict[str, Any]) -> None:
        if self._file is None:
            raise BackendError(f"the recording {self._path} is closed")
        try:
            json.dump(scrub_all(data), self._file, separators=(",", ":"), allow_nan=False)
            self._file.write("\n")
            self._file.flush()
        except OSError as error:
            with suppress(BackendError):  # what is still in its buffer finds no room either
                self.close()
            raise self._stopped(error) from None

    def close(self) -> None:
        """Close the file. Idempotent. Raises `BackendError` if not all of it could be written."""
        file, self._file = self._file, None
        try:
            if file is not None:
                file.close()
        except OSError as error:
            raise self._stopped(error) from None

    def _stopped(self, error: OSError) -> BackendError:
        return BackendError(f"the recording {self._path} stopped: {error.strerror}")

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _may_keep(event: Event) -> bool:
    """Debug lines, those of no known level, and lines and refusals that quote texts may contain prompts."""
    if isinstance(event, RequestRefused):
        return len(event.error) <= _LONGEST and "exceeds the available context" in event.error
    if not isinstance(event, LogLine):
        return True
    text = event.text.lower()
    return event.level in ("I", "W", "E") and not any(word in text for word in _QUOTING)
