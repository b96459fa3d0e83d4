"""A tiny app around the widgets under test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

from textual.app import App, ComposeResult
from textual.message import Message
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widget import Widget

from slotview.widgets.base.panel import LinePanel
from slotview.widgets.look import Look

MessageT = TypeVar("MessageT", bound=Message)

__all__ = ["Host", "drawn", "hosting", "screen_strips", "screen_text"]


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

    def seen(self, kind: type[MessageT]) -> list[MessageT]:
        """Messages of one kind, oldest first; each once, though it passes several widgets."""
        return list({id(message): message for message in self.posted if isinstance(message, kind)}.values())


@asynccontextmanager
async def hosting(*widgets: Widget, size: tuple[int, int] = (80, 24)) -> AsyncIterator[Pilot[None]]:
    """Run a `Host` of a size with the widgets mounted."""
    host = Host(widgets)
    async with host.run_test(size=size, message_hook=host.posted.append) as pilot:
        await pilot.pause()
        yield pilot


def drawn(panel: LinePanel, look: Look, width: int, height: int | None = None) -> str:
    """Text of the lines a panel makes for a look."""
    lines = panel.draw(look, width, height)
    assert height is None or len(lines) <= height
    return "\n".join("".join(text for text, _ in line).rstrip() for line in lines)


def screen_strips(pilot: Pilot[None]) -> list[Strip]:
    """What stands on the screen, line by line."""
    return pilot.app.screen._compositor.render_strips()


def screen_text(pilot: Pilot[None]) -> str:
    """Text on the screen, without colours."""
    return "\n".join(strip.text.rstrip() for strip in screen_strips(pilot)).rstrip()
