"""Snapshots and events to JSON data and back: default values are left out, unknown fields ignored."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, TypeVar

import msgspec

from slotview.engine import events as event_types
from slotview.engine.events import Event
from slotview.engine.snapshot import Snapshot

__all__ = ["event_from", "event_to", "snapshot_from", "snapshot_to"]

_EVENTS: dict[str, type[Event]] = {
    name: kind
    for name in event_types.__all__
    if isinstance(kind := getattr(event_types, name), type) and issubclass(kind, Event) and kind is not Event
}
_RecordT = TypeVar("_RecordT", Snapshot, Event)


def snapshot_to(snapshot: Snapshot) -> dict[str, Any]:
    """Convert a snapshot to JSON data."""
    return _to(snapshot)


def snapshot_from(data: object) -> Snapshot:
    """Inverse of `snapshot_to`. Raises `ValueError`."""
    return _from(data, Snapshot)


def event_to(event: Event) -> dict[str, Any]:
    """Convert an event to JSON data, with its class under ``kind``."""
    return {"kind": type(event).__name__, **_to(event)}


def event_from(data: object) -> Event | None:
    """Inverse of `event_to`; None for an unknown kind, which a later version may have written. Raises `ValueError`."""
    if not isinstance(data, dict):
        raise ValueError("an event is not an object")
    kind = _EVENTS.get(str(data.get("kind")))
    return None if kind is None else _from(data, kind)


def _to(record: Snapshot | Event) -> dict[str, Any]:
    data: dict[str, Any] = msgspec.to_builtins(record, enc_hook=_plain)
    return data


def _plain(value: object) -> object:
    """Builtins for what msgspec does not know."""
    if isinstance(value, MappingProxyType):
        return dict(value)
    raise NotImplementedError(type(value).__name__)


def _from(data: object, kind: type[_RecordT]) -> _RecordT:
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None
