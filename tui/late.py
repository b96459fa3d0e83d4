"""Tells errors from messages that come too late: those to a screen that is closing, whose widgets are gone already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from textual._context import active_message_pump
from textual.css.query import NoMatches
from textual.screen import Screen
from textual.widget import Widget
from textual.worker import WorkerFailed, get_current_worker

__all__ = ["came_too_late"]


def came_too_late(error: Exception, screens: Sequence[Screen[Any]]) -> bool:
    """Whether a widget was not found because its screen is no longer one of the open ``screens``."""
    asking: object = active_message_pump.get()
    cause: BaseException = error
    if isinstance(error, WorkerFailed):
        cause, asking = error.error, get_current_worker().node
    if not isinstance(cause, NoMatches) or not isinstance(asking, Widget):
        return False
    return not any(node in screens for node in asking.ancestors_with_self)
