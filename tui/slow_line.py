"""Tells whether a terminal keeps up: over a slow line it would show the past, and each look would add to that."""

from __future__ import annotations

from typing import Any

from textual.app import App

__all__ = ["is_behind"]


def is_behind(app: App[Any]) -> bool:
    """Whether something that was drawn before still waits to be written. Textual writes in a thread of its own."""
    writer = getattr(app._driver, "_writer_thread", None)
    return writer is not None and not writer._queue.empty()
