"""Requests fired from here, a row for each."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from slotview.engine.backend import RequestState, RequestView
from slotview.engine.text.plain import plain

from .base.column_table import ColumnTable
from .base.columns import NOTHING, Column, says
from .base.line import Line, cut_middle
from .base.title import set_title
from .look import Look
from .numbers import count, duration, rate

__all__ = ["NONE_YET", "RequestList"]

NONE_YET = "none fired from here yet: press f to fire prompts"
_LONGEST = 2000
_GLYPHS = {
    RequestState.WAITING: ("◌ waiting", "waiting"),
    RequestState.PROMPT: ("◐ prompt", "prompt"),
    RequestState.GENERATING: ("● generating", "generating"),
    RequestState.DONE: ("✓ done", "dim"),
    RequestState.FAILED: ("✗ failed", "error"),
    RequestState.CANCELLED: ("– cancelled", "dim"),
}


class RequestList(ColumnTable[RequestView]):
    """State, slot, waiting time, speed and outcome of every request, the newest at the top."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("x", "cancel", "Cancel", id="requests.cancel", tooltip="Cancel the chosen request"),
        Binding(
            "X", "cancel_all", "Cancel all", id="requests.cancel_all", show=False, tooltip="Cancel all open requests"
        ),
    ]
    DEFAULT_CSS = """
    RequestList { height: 1fr; min-height: 3; }
    """

    @dataclass
    class Opened(Message):
        """Show a request's text."""

        number: int

    @dataclass
    class CancelRequested(Message):
        """Give a request up."""

        number: int

    class CancelAllRequested(Message):
        """Cancel all open requests."""

    def __init__(
        self,
        *,
        why_none: Callable[[], str] = lambda: NONE_YET,
        id: str | None = None,  # noqa: A002 (Textual's name)
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.border_title = "Requests"
        self._why_none = why_none
        self._now = 0.0

    def why_not(self, action: str) -> str:
        """A request that is over cannot be cancelled."""
        chosen = self.chosen
        if action != "cancel":
            return super().why_not(action)
        if chosen is None:
            return "there is no request to cancel"
        return f"request {chosen.number} has ended already" if chosen.state.is_over else ""

    def action_cancel(self) -> None:
        """Cancel the chosen request."""
        if self.chosen is not None:
            self.post_message(self.CancelRequested(self.chosen.number))

    def action_cancel_all(self) -> None:
        """Cancel all open requests."""
        self.post_message(self.CancelAllRequested())

    def draw_empty(self) -> str:
        """Say which key to press, if it does something."""
        return self._why_none()

    def key_of(self, row: RequestView) -> Hashable:
        """A request is identified by its number."""
        return row.number

    def opened(self, row: RequestView) -> None:
        """Ask for the request's text."""
        self.post_message(self.Opened(row.number))

    def show(self, look: Look) -> None:
        """Draw the requests of a look."""
        self._now = look.snapshot.time
        set_title(self, _title(look))
        self.set_rows(look.requests[::-1])
        for index in self.visible_lines:  # waiting times go on while nothing else changes
            if self._rows[index].state is RequestState.WAITING:
                self.refresh_index(index)

    def all_columns(self) -> list[Column[RequestView]]:
        """What the table says of a request."""
        return [
            Column("#", 4, 0, lambda row, _: says(str(row.number), "strong")),
            Column("state", 12, 1, lambda row, _: says(*_GLYPHS[row.state]), right=False),
            Column("slot", 4, 2, lambda row, _: NOTHING if row.slot is None else says(str(row.slot))),
            Column("waited", 8, 4, self._waited),
            Column("1st token", 9, 5, lambda row, _: says(duration(row.first_token))),
            Column("decoded", 7, 6, lambda row, width: says(count(row.n_decoded, width))),
            Column("tok/s", 6, 3, _speed),
            Column("prompt/end", 10, 7, _end, right=False, widest=60),
        ]

    def _waited(self, row: RequestView, _: int) -> Line:
        return says(duration(row.waited(self._now)), "waiting" if row.state is RequestState.WAITING else "")


def _speed(row: RequestView, _: int) -> Line:
    """Its speed; one that lost its slot to a retune has none until it has another."""
    return NOTHING if row.state is RequestState.WAITING else says(rate(row.tokens_per_second), "generating")


def _end(row: RequestView, width: int) -> Line:
    if row.finish is None or row.state is RequestState.CANCELLED:  # which the state says already
        return says(cut_middle(plain(row.prompt, _LONGEST).strip(), width), "dim")
    word = row.finish + (", context full" if row.truncated else "")
    return says(plain(word, width), "error" if row.state is RequestState.FAILED else "dim")


def _title(look: Look) -> str:
    return f"Requests: {look.n_open} of {len(look.requests)} open" if look.requests else "Requests"
