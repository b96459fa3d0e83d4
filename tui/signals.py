"""SIGTERM, which asks us to quit, and SIGSTOP, by which we suspend ourselves."""

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
"""Textual's thread that writes to the terminal; it ends once the terminal is restored."""
PATIENCE = 2.0
"""Seconds that an orderly exit may take."""


def leave_on_sigterm(app: App[Any]) -> None:
    """Let SIGTERM quit the app in an orderly way: the terminal is restored and the backend is closed.

    A terminal that accepts no output (Ctrl-S, a dead line) would delay that for ever: then the process just ends.
    Outside the main thread, this does nothing, and SIGTERM ends the process as usual.
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
    """Stop this process and those that the shell started with it, until `fg`; does nothing on Windows."""
    if sys.platform != "win32":
        os.killpg(0, signal.SIGSTOP)
