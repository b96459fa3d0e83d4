"""One request fired from here: its text as it streams."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar

from msgspec.structs import replace
from textual.binding import Binding, BindingType
from textual.widget import Widget

from slotview.engine.backend import Ticket
from slotview.widgets.request_text import RequestText

from .dialog import Dialog

__all__ = ["RequestScreen"]

_EVERY = 0.25


class RequestScreen(Dialog[None]):
    """Follows a ticket until it is over."""

    DEFAULT_CLASSES = "-large"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("x", "cancel", "Cancel request", id="request.cancel", tooltip="Cancel the request and free its slot"),
    ]

    DEFAULT_CSS = """
    RequestScreen RequestText { border: none; height: 1fr; }
    """

    def __init__(self, ticket: Ticket, now: Callable[[], float]) -> None:
        super().__init__()
        self._ticket = ticket
        self._now = now

    def title_text(self) -> str:
        """Return the title."""
        return f"Request {self._ticket.number}"

    def inside(self) -> Iterable[Widget]:
        """Make the text."""
        yield RequestText(id="text")

    def on_mount(self) -> None:
        """Follow the text."""
        self.show_text()
        self.set_interval(_EVERY, self.show_text)

    def show_text(self) -> None:
        """Show what has arrived by now."""
        view = self._ticket.view()
        shown = replace(view, queue_wait=view.waited(self._now()))
        self.query_one(RequestText).show_request(shown, self._ticket.text())
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A request that is over cannot be cancelled."""
        if action == "cancel" and self._ticket.view().state.is_over:
            return None
        return True

    def action_cancel(self) -> None:
        """Cancel it."""
        self._ticket.cancel()
