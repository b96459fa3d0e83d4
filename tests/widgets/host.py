"""A tiny app around the widgets under test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from textual.app import App, ComposeResult
from textual.message import Message
from textual.pilot import Pilot
from textual.widget import Widget

__all__ = ["Host", "hosting"]


class Host(App[None]):
    """Shows widgets one above the other and keeps the messages they post."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(self, widgets: Sequence[Widget]) -> None:
        super().__init__()
        self.shown = widgets
        self.posted: list[Message] = []

    def compose(self) -> ComposeResult:
        yield from self.shown

    def on_mount(self) -> None:
        self.shown[0].focus()

    def seen(self, kind: type[Message]) -> list[Message]:
        """Messages of one kind, oldest first."""
        return [message for message in self.posted if isinstance(message, kind)]


@asynccontextmanager
async def hosting(*widgets: Widget, size: tuple[int, int] = (80, 24)) -> AsyncIterator[Pilot[None]]:
    """Run a `Host` of a size with the widgets mounted."""
    host = Host(widgets)
    async with host.run_test(size=size, message_hook=host.posted.append) as pilot:
        await pilot.pause()
        yield pilot
