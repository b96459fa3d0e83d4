"""Which tone says how a server is."""

from __future__ import annotations

from slotview.engine.snapshot import HealthState

__all__ = ["health_tone"]

_TONES = {
    HealthState.OK: "good",
    HealthState.ASLEEP: "dim",
    HealthState.CONNECTING: "waiting",
    HealthState.LOADING: "waiting",
    HealthState.ENDED: "dim",
    HealthState.ROUTER: "waiting",
}


def health_tone(state: HealthState) -> str:
    """The tone of a state; all that is not known to be harmless is an error."""
    return _TONES.get(state, "error")
