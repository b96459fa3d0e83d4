"""Signals that ask us to quit, and SIGSTOP, by which we suspend ourselves."""

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

__all__ = ["leave_on_signals", "stop_job"]

WRITER = "textual-output"
"""Textual's thread that writes to the terminal; it ends once the terminal is restored."""
PATIENCE = 2.0
"""Seconds that an orderly exit may take."""


def leave_on_signals(app: App[Any]) -> None:
    """Let SIGTERM, SIGINT and SIGHUP quit the app in an orderly way, with the code that a shell expects.

    The terminal is restored and the backend is closed; if it accepts no output (Ctrl-S, a dead line), which would delay
    that for ever, the process just ends. Outside the main thread, this does nothing.
    """
    loop = asyncio.get_running_loop()

    def leave(number: int, frame: FrameType | None) -> None:
        code = 128 + number
        if loop.is_closed():  # the app has ended already
            raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(code)
        loop.call_soon_threadsafe(partial(app.exit, return_code=code))
        timer = threading.Timer(PATIENCE, _end, [code])
        timer.daemon = True
        timer.start()

    with suppress(ValueError):
        for number in _asking():
            signal.signal(number, leave)


def _asking() -> list[signal.Signals]:
    """The signals that ask us to quit; Windows has no SIGHUP."""
    names = ("SIGTERM", "SIGINT", "SIGHUP")
    return [getattr(signal, name) for name in names if hasattr(signal, name)]


def _end(code: int) -> None:
    """End now, if the terminal has not been restored."""
    if any(thread.name == WRITER for thread in threading.enumerate()):
        os._exit(code)


def stop_job() -> None:
    """Stop this process and those that the shell started with it, until `fg`; does nothing on Windows."""
    if sys.platform != "win32":
        os.killpg(0, signal.SIGSTOP)
