"""How long a step takes: as long as the arithmetic here, or as long as it would take another device."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from msgspec import Struct

__all__ = [
    "PROFILES",
    "DeviceProfile",
    "StepWork",
    "UnknownProfileError",
    "microseconds",
    "profile",
    "seconds",
]


class UnknownProfileError(ValueError):
    """There is no profile of this name; the text names those there are."""


class StepWork(Protocol):
    """What a profile needs to know about one decoded piece."""

    @property
    def n_prompt_tokens(self) -> int:
        """Prompt tokens in the piece."""

    @property
    def n_decode_slots(self) -> int:
        """Slots that generate in it, one token each."""

    @property
    def n_prompt_slots(self) -> int:
        """Slots of whose prompts it has tokens."""


class DeviceProfile(Struct, frozen=True):
    """Times of one device running one model, in milliseconds.

    Generating takes ``step + per_slot × generating slots``; prompts take ``per_prompt`` for each slot whose prompt is
    in the piece, and ``per_prompt_token`` for each of its prompt tokens. A piece with both takes the sum.
    """

    name: str
    about: str
    step: float
    per_slot: float
    per_prompt: float
    per_prompt_token: float

    def step_us(self, work: StepWork) -> int:
        """Duration of one piece in microseconds."""
        duration = 0.0
        if work.n_decode_slots:
            duration += self.step + self.per_slot * work.n_decode_slots
        if work.n_prompt_tokens:
            duration += self.per_prompt * work.n_prompt_slots + self.per_prompt_token * work.n_prompt_tokens
        return round(duration * 1000)


PROFILES: Mapping[str, DeviceProfile] = MappingProxyType(
    {
        entry.name: entry
        for entry in (
            DeviceProfile(
                name="m4-9b",
                about="a 9B model on an Apple M4 with 24 GB, after published measurements",
                step=47.0,
                per_slot=14.0,
                per_prompt=400.0,
                per_prompt_token=4.0,
            ),
        )
    }
)


def profile(name: str, profiles: Mapping[str, DeviceProfile] = PROFILES) -> DeviceProfile | None:
    """Find a profile by name; None for "off" or "", which mean no pacing. Raises `UnknownProfileError`."""
    if name in ("", "off"):
        return None
    if name not in profiles:
        raise UnknownProfileError(f"no such profile; use off or one of {', '.join(profiles)}")
    return profiles[name]


def microseconds() -> int:
    """Read the monotonic clock in microseconds."""
    return time.monotonic_ns() // 1000


def seconds() -> float:
    """Read the same clock in seconds."""
    return microseconds() / 1e6
