"""Tells what comes too late from errors: messages to a screen that is closing, and mouse events on what is gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from textual._context import active_message_pump
from textual.css.query import NoMatches
from textual.errors import NoWidget
from textual.events import Event, MouseEvent
from textual.screen import Screen
from textual.widget import Widget
from textual.worker import WorkerFailed, get_current_worker

__all__ = ["came_too_late", "hits_what_is_gone"]


def came_too_late(error: Exception, screens: Sequence[Screen[Any]]) -> bool:
    """Whether a widget was not found because its screen is no longer one of the open ``screens``."""
    asking: object = active_message_pump.get()
    cause: BaseException = error
    if isinstance(error, WorkerFailed):
        cause, asking = error.error, get_current_worker().node
    if not isinstance(cause, NoMatches) or not isinstance(asking, Widget):
        return False
    return not any(node in screens for node in asking.ancestors_with_self)


def hits_what_is_gone(event: Event, screens: Sequence[Screen[Any]]) -> bool:
    """Whether a mouse event is on a widget that has been removed, but is still drawn, as a toast is after a click."""
    if not isinstance(event, MouseEvent) or event.is_forwarded or not screens:
        return False
    try:
        widget, _ = screens[-1].get_widget_at(event.x, event.y)
    except NoWidget:
        return False
    return widget.parent is None
