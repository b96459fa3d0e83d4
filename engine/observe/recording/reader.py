"""Recordings, read back whole into memory; what is wrong with a file is said in one line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from slotview.engine.backend import BackendError
from slotview.engine.events import Event
from slotview.engine.snapshot import Snapshot
from slotview.engine.text.plain import plain

from .codec import event_from, snapshot_from
from .poll_series import is_poll, snapshot_of_poll
from .recorder import HEADER, VERSION
from .scrub import scrub

__all__ = ["Frame", "Recording", "load_recording"]

LARGEST = 256 * 1024 * 1024  # bytes; a recording is held in memory
BEYOND_ALL = 2.0**63


class Frame(Struct, frozen=True):
    """A snapshot, and what happened since the one before."""

    snapshot: Snapshot
    events: tuple[Event, ...] = ()


class Recording(Struct, frozen=True):
    """All frames in order. ``note`` says in one line where a file was cut off, if it was."""

    name: str
    frames: tuple[Frame, ...]
    note: str = ""

    @property
    def seconds(self) -> float:
        """From the first snapshot to the last."""
        return self.frames[-1].snapshot.time - self.frames[0].snapshot.time


def load_recording(path: str | Path) -> Recording:
    """Read a recording, or a series of raw polls ({"t", "slots", "metrics"}). Raises `BackendError` with one line.

    A file whose last line is cut off is read up to there; `Recording.note` then says so.
    """
    path = Path(path)
    lines = _lines(path)
    frames: list[Frame] = []
    note = ""
    for number, line in enumerate(lines, 1):
        try:
            _add(frames, _parsed(line), number, path.name)
        except (ValueError, RecursionError) as error:
            if number == len(lines) and frames and not line.endswith("\n"):
                note = f"{path.name} is cut off in line {number}; what came before is shown"
                break
            raise BackendError(f"{path.name}, line {number} cannot be read: {_reason(error)}") from None
    if not frames:
        raise BackendError(f"{path.name} holds no looks at a server; is it a recording?")
    return Recording(scrub(path.name), tuple(frames), note)


def _lines(path: Path) -> list[str]:
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise BackendError(f"{path.name} is too large to replay: {size >> 20} MiB; at most {LARGEST >> 20}")
        with path.open(encoding="utf-8-sig") as file:
            return [line for line in file if line.strip()]
    except OSError as error:
        raise BackendError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BackendError(f"{path.name} is not a recording: it is not text") from None


def _parsed(line: str) -> object:
    """The JSON of a line. Raises `ValueError`, also for numbers that no clock and no counter reaches."""
    return json.loads(line, parse_int=_whole, parse_float=_decimal, parse_constant=_decimal)


def _whole(text: str) -> int:
    _decimal(text)
    return int(text)


def _decimal(text: str) -> float:
    number = float(text)
    if not abs(number) < BEYOND_ALL:
        raise ValueError(f"{text[:20]} is not a number that makes sense here")
    return number


def _add(frames: list[Frame], data: object, number: int, name: str) -> None:
    """Add one line; events without a snapshot belong to the frame before them."""
    if not isinstance(data, dict):
        raise ValueError("not an object")
    if HEADER in data:
        _check(data[HEADER], name)
    elif is_poll(data):
        frames.append(Frame(snapshot_of_poll(data, number, name)))
    elif "snapshot" in data:
        frames.append(Frame(snapshot_from(data["snapshot"]), tuple(_events(data.get("events")))))
    elif "events" in data:
        if frames:
            frames[-1] = replace(frames[-1], events=(*frames[-1].events, *_events(data["events"])))
    else:
        raise ValueError("neither a snapshot nor events")


def _check(version: object, name: str) -> None:
    if version != VERSION:
        raise BackendError(
            f"{name} was written by another version ({plain(str(version), 20)}); this one reads {VERSION}"
        )


def _events(data: object) -> Iterator[Event]:
    if not isinstance(data, Iterable) or isinstance(data, str | dict):
        return
    for item in data:
        event = event_from(item)
        if event is not None:
            yield event


def _reason(error: Exception) -> str:
    """The first line of what is wrong, without a library's explanations."""
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON ({error.msg.removesuffix(' at')} at column {error.colno})"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return plain(str(error).splitlines()[0], 120)
