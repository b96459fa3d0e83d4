"""Being asked to end, and asking to be stopped."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import Any

from textual.app import App

__all__ = ["leave_on_sigterm", "stop_job"]

WRITER = "textual-output"
"""The thread that writes to the terminal; it ends when the terminal has its state back."""
PATIENCE = 2.0
"""Seconds that leaving in order may take."""


def leave_on_sigterm(app: App[Any]) -> None:
    """Let SIGTERM leave the app in order, so that the terminal gets its state back and the backend is closed.

    A terminal that takes no output (Ctrl-S, a dead line) would hold that up for ever: then it ends without. In a thread
    other than the main one, SIGTERM ends the process as ever.
    """
    loop, code = asyncio.get_running_loop(), 128 + signal.SIGTERM

    def end() -> None:
        if any(thread.name == WRITER for thread in threading.enumerate()):
            os._exit(code)

    def leave(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(partial(app.exit, return_code=code))
        timer = threading.Timer(PATIENCE, end)
        timer.daemon = True
        timer.start()

    with suppress(ValueError):
        signal.signal(signal.SIGTERM, leave)


def stop_job() -> None:
    """Stop this process and those that the shell started with it, until `fg`; nothing where there are no jobs."""
    if sys.platform != "win32":
        os.killpg(0, signal.SIGSTOP)
