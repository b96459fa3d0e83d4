"""Snapshots and events to JSON data and back: default values are left out, unknown fields ignored."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .. import events as event_types
from ..events import Event
from ..snapshot import Snapshot

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["event_from", "event_to", "snapshot_from", "snapshot_to"]

_EVENTS: dict[str, type[Event]] = {
    name: kind
    for name in event_types.__all__
    if isinstance(kind := getattr(event_types, name), type) and issubclass(kind, Event) and kind is not Event
}


_adapters: dict[str, TypeAdapter[Any]] = {}


def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    """Made on first use, so that pydantic is loaded only to record or replay."""
    from pydantic import TypeAdapter

    if kind.__name__ not in _adapters:
        _adapters[kind.__name__] = TypeAdapter(kind)
    return _adapters[kind.__name__]


def snapshot_to(snapshot: Snapshot) -> dict[str, Any]:
    """Convert a snapshot to JSON data."""
    facts = replace(snapshot.facts, endpoints=dict(snapshot.facts.endpoints))
    return _to(replace(snapshot, facts=facts))


def snapshot_from(data: object) -> Snapshot:
    """Inverse of `snapshot_to`. Raises `ValueError`."""
    snapshot: Snapshot = _adapter(Snapshot).validate_python(data)
    return snapshot


def event_to(event: Event) -> dict[str, Any]:
    """Convert an event to JSON data, with its class under ``kind``."""
    return {"kind": type(event).__name__, **_to(event)}


def event_from(data: object) -> Event | None:
    """Inverse of `event_to`; None for an unknown kind, which a later version may have written. Raises `ValueError`."""
    if not isinstance(data, dict):
        raise ValueError("an event is not an object")
    kind = _EVENTS.get(str(data.get("kind")))
    if kind is None:
        return None
    event: Event = _adapter(kind).validate_python({key: value for key, value in data.items() if key != "kind"})
    return event


def _to(value: Any) -> dict[str, Any]:
    data: dict[str, Any] = _adapter(type(value)).dump_python(value, mode="json", exclude_defaults=True)
    return data
