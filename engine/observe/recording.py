"""Recordings: written, read back, and watched again."""

from __future__ import annotations

from .load import Frame, Recording, load_recording
from .recorder import Recorder
from .replay import ReplayBackend
from .tape import Tape

__all__ = ["Frame", "Recorder", "Recording", "ReplayBackend", "Tape", "load_recording"]
