"""One look at a server, for scripts: what there is to see, and an exit code."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from ..snapshot import EndpointState, HealthState, Snapshot
from .backend import RemoteBackend
from .patience import PATIENT, Patience
from .read.models import AT_PEER, FAILED

__all__ = ["ExitCode", "exit_code", "is_settled", "look_once", "snapshot_once"]


class ExitCode(IntEnum):
    """What ``slotview attach URL --once`` ends with."""

    RIGHT = 0
    FAILED = 1
    USAGE = 2
    UNREACHABLE = 3
    KEY = 4
    FOREIGN = 5
    SLOTS_OFF = 6
    LOADING = 7
    ASLEEP = 8
    NO_MODEL = 9


_OF_STATE = {
    HealthState.REFUSED: ExitCode.UNREACHABLE,
    HealthState.NO_ANSWER: ExitCode.UNREACHABLE,
    HealthState.CONNECTING: ExitCode.UNREACHABLE,
    HealthState.KEY: ExitCode.KEY,
    HealthState.FOREIGN: ExitCode.FOREIGN,
    HealthState.NOTHING: ExitCode.SLOTS_OFF,
    HealthState.LOADING: ExitCode.LOADING,
    HealthState.ASLEEP: ExitCode.ASLEEP,
}


def look_once(
    url: str,
    *,
    api_key: str | None = None,
    model: str | None = None,
    seconds: float = 10.0,
    patience: Patience = PATIENT,
) -> tuple[Snapshot, ExitCode]:
    """Look until all is known, at most for ``seconds``. Raises `AddressError` for a URL or key that cannot be used."""
    backend = RemoteBackend(url, api_key=api_key, model=model, patience=patience)
    backend.start()
    try:
        snapshot = backend.wait_until(is_settled, seconds)
    finally:
        backend.close()
    return snapshot, exit_code(snapshot, backend.chosen_model)


def snapshot_once(
    url: str,
    *,
    api_key: str | None = None,
    model: str | None = None,
    seconds: float = 10.0,
    patience: Patience = PATIENT,
) -> tuple[dict[str, Any], ExitCode]:
    """The same, in the documented JSON form."""
    from .snapshot_json import as_json

    snapshot, code = look_once(url, api_key=api_key, model=model, seconds=seconds, patience=patience)
    return as_json(snapshot, code).model_dump(mode="json"), code


def is_settled(snapshot: Snapshot) -> bool:
    """Whether all that can be known with one look is known."""
    ends = snapshot.facts.endpoints
    if snapshot.health.state is not HealthState.OK:
        return snapshot.health.state is not HealthState.CONNECTING
    asked = ("metrics",) if ends["props"].state is EndpointState.KEY else ("metrics", "models")
    return all(ends[name].state is not EndpointState.UNKNOWN for name in asked)


def _of_model(state: str | None) -> ExitCode:
    """What the state of a router's model comes to; one that is not loaded counts as asleep."""
    if state is None or state == AT_PEER:
        return ExitCode.NO_MODEL
    return ExitCode.FAILED if state in (FAILED, "") else ExitCode.ASLEEP


def exit_code(snapshot: Snapshot, model: str | None = None) -> ExitCode:
    """Say in one number what the snapshot shows."""
    state = snapshot.health.state
    if state is HealthState.OK:
        return ExitCode.RIGHT if snapshot.slots is not None else ExitCode.SLOTS_OFF
    if state is HealthState.ROUTER:
        return _of_model(dict(snapshot.facts.models).get(model or ""))
    if state is HealthState.CONNECTING and snapshot.facts.endpoints["props"].state is EndpointState.OK:
        return ExitCode.FAILED
    if state is HealthState.ERROR and snapshot.facts.endpoints["props"].state is EndpointState.NO_ANSWER:
        return ExitCode.UNREACHABLE
    return _OF_STATE.get(state, ExitCode.FAILED)
