"""Being asked to end, and asking to be stopped."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import suppress
from functools import partial
from typing import Any

from textual.app import App

__all__ = ["leave_on_sigterm", "stop_job"]


def leave_on_sigterm(app: App[Any]) -> None:
    """Let SIGTERM leave the app in order, so that the terminal gets its state back and the backend is closed.

    Windows, and a loop outside the main thread, have no such handlers: there it ends the process as ever.
    """
    leave = partial(app.exit, return_code=128 + signal.SIGTERM)
    with suppress(NotImplementedError, RuntimeError, ValueError):
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, leave)


def stop_job() -> None:
    """Stop this process and those that the shell started with it, until `fg`; nothing where there are no jobs."""
    if sys.platform != "win32":
        os.killpg(0, signal.SIGSTOP)
