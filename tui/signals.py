"""Being asked to end from outside."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from functools import partial
from typing import Any

from textual.app import App

__all__ = ["leave_on_sigterm"]


def leave_on_sigterm(app: App[Any]) -> None:
    """Let SIGTERM leave the app in order, so that the terminal gets its state back and the backend is closed.

    Windows, and a loop outside the main thread, have no such handlers: there it ends the process as ever.
    """
    leave = partial(app.exit, return_code=128 + signal.SIGTERM)
    with suppress(NotImplementedError, RuntimeError, ValueError):
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, leave)
