"""Several servers at once: a row for each, and a full screen for the chosen one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from slotview.engine.backend import Backend

from .app import BaseApp
from .feed import Feed
from .key_line import KeyLine
from .screens.dashboard import Dashboard
from .server_table import ServerRow, ServerTable
from .slow_line import is_behind

__all__ = ["Overview", "OverviewApp"]


class Overview(Screen[None]):
    """Polls every server except the one whose own screen is open, as that screen does it itself."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark", "help", "Help", id="help", tooltip="All keys, and what each number means"),
        Binding("q", "app.quit", "Quit", id="quit", tooltip="Leave slotview"),
    ]

    def __init__(self, servers: Sequence[tuple[str, Backend]], refresh: float) -> None:
        super().__init__()
        self._names = [name for name, _ in servers]
        self._feeds = [Feed(backend) for _, backend in servers]
        self._refresh = refresh
        self._opened: int | None = None

    def compose(self) -> ComposeResult:
        """Lay out the table and the keys."""
        yield ServerTable(id="servers")
        yield KeyLine()

    def on_mount(self) -> None:
        """Start polling."""
        self.look()
        self.set_interval(self._refresh, self.look)

    def on_screen_resume(self) -> None:
        """Once the server's own screen is closed, poll all of them again."""
        self._opened = None
        self.call_after_refresh(self.look)

    def look(self) -> None:
        """Ask all backends and draw what changed."""
        for index, feed in enumerate(self._feeds):
            if index != self._opened and feed.poll():
                feed.take()
        if is_behind(self.app):
            return
        rows = [ServerRow.of(index, name, feed.look) for index, (name, feed) in enumerate(self._pairs())]
        self.query_one(ServerTable).show_servers(rows)

    def _pairs(self) -> list[tuple[str, Feed]]:
        return list(zip(self._names, self._feeds, strict=True))

    @on(ServerTable.Opened)
    def _open(self, message: ServerTable.Opened) -> None:
        if self.app.screen is not self:
            return  # Enter held down asks again
        self._opened = message.index
        self.app.push_screen(Dashboard(self._feeds[message.index], min(self._refresh, 0.25)))

    def action_help(self) -> None:
        """Show all keys and what the numbers mean."""
        from .screens.help import HelpScreen

        self.app.push_screen(HelpScreen(self))


class OverviewApp(BaseApp[None]):
    """The app over several named backends. The caller closes them after the app has ended."""

    def __init__(
        self, servers: Sequence[tuple[str, Backend]], *, refresh: float = 0.5, theme: str | None = None
    ) -> None:
        super().__init__(theme)
        self._servers = servers
        self._overview = Overview(servers, refresh)

    def get_default_screen(self) -> Screen[None]:
        """The overview is the first screen."""
        return self._overview

    def on_mount(self) -> None:
        """Start the backends."""
        for _, backend in self._servers:
            backend.start()
