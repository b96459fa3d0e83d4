"""The application: themes, styles, and the screen of one backend."""

from __future__ import annotations

import gc
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rich.console import ConsoleDimensions, RenderableType
from textual.app import App, ReturnType, SuspendNotSupported, SystemCommand
from textual.binding import Binding, BindingType
from textual.command import CommandPalette
from textual.events import Event
from textual.screen import Screen

from slotview.engine.backend import Backend

from .feed import Feed
from .keyboard import mend_keyboard
from .late import came_too_late, hits_what_is_gone
from .palette import mend_palette
from .screens.dashboard import Dashboard
from .signals import leave_on_signals, stop_job
from .theme import DEFAULT_THEME, THEMES

if TYPE_CHECKING:
    from .screens.fire import FireForm

__all__ = ["BaseApp", "SlotviewApp"]

WARNING_SECONDS = 30.0


class BaseApp(App[ReturnType]):
    """What the apps for one server and for several have in common."""

    CSS_PATH = Path(__file__).with_name("app.tcss")
    TITLE = "slotview"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "ctrl+z", "suspend_process", "Suspend", id="suspend", show=False, tooltip="Back to the shell; fg continues"
        )
    ]
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 (as Textual declares it)
        (0, "-narrow"),
        (120, "-wide"),
        (160, "-huge"),
    ]
    VERTICAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-low"),
        (30, "-tall"),
        (44, "-high"),
    ]

    def __init__(self, theme: str | None = None) -> None:
        super().__init__()
        for ours in THEMES:
            self.register_theme(ours)
        self.theme = theme if theme in self.available_themes else DEFAULT_THEME
        self.last_fire: FireForm | None = None
        """The form fired last, to be offered again."""
        self.copied_command: str | None = None
        """To be printed at the end, too: not every terminal has a clipboard that can be written to."""

    def on_load(self) -> None:
        """Prepare for signals and odd input before the terminal is changed."""
        leave_on_signals(self)
        mend_keyboard()
        mend_palette()
        self._settle_size()

    def _settle_size(self) -> None:
        """If the terminal does not report its size, Rich guesses 25 lines and Textual's driver 24: settle on one.

        Otherwise the screen would be laid out for both in turn, for ever.
        """
        size = ConsoleDimensions(*shutil.get_terminal_size())
        if self.console.size != size:
            self.console.size = size

    def on_mount(self) -> None:
        """Collect garbage from the first frame on; the start may have put that off."""
        self.call_after_refresh(_collect_from_now_on)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Offer all keys of the screen, then those of Textual's own commands that make sense here."""
        from .commands import commands_of

        yield from commands_of(screen)
        yield from (
            command for command in super().get_system_commands(screen) if command.title in ("Theme", "Screenshot")
        )

    def action_command_palette(self) -> None:
        """Open the palette, unless the last one is still closing: two would have the same id."""
        if not any(isinstance(screen, CommandPalette) for screen in self._nodes):
            super().action_command_palette()

    def deliver_screenshot(
        self, filename: str | None = None, path: str | None = None, time_format: str | None = None
    ) -> str | None:
        """Save a picture in the folder slotview was started in; not everyone has a folder for downloads."""
        return super().deliver_screenshot(filename, path or str(Path.cwd()), time_format)

    def action_suspend_process(self) -> None:
        """Give the terminal back, then stop the shell's whole job: `make run` is more than this process."""
        with suppress(SuspendNotSupported), self.suspend():
            stop_job()

    def warn(self, text: str) -> None:
        """Show a warning; may be called in any thread."""
        self.call_later(partial(self.notify, text, severity="warning", timeout=WARNING_SECONDS, markup=False))

    async def on_event(self, event: Event) -> None:
        """Handle an event, unless it comes too late to matter."""
        if not hits_what_is_gone(event, self.screen_stack):
            await super().on_event(event)

    def panic(self, *renderables: RenderableType) -> None:
        """Quit because one of Textual's own threads failed; the return code must say so."""
        self._return_code = 1
        super().panic(*renderables)

    def _handle_exception(self, error: Exception) -> None:
        """Quit, unless the message came too late to matter."""
        if not came_too_late(error, self.screen_stack):
            super()._handle_exception(error)

    def _fatal_error(self) -> None:
        """Quit with the error and where it happened, without local variables: those may hold secrets."""
        from .crash import crash_report

        self.bell()
        self._exit_renderables.append(crash_report(self._exception))
        self._close_messages_no_wait()


class SlotviewApp(BaseApp[None]):
    """The dashboard over one backend. The caller closes the backend after the app has ended.

    ``refresh``: seconds between two looks. ``start`` is called with the app once the first frame is drawn.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        refresh: float = 0.25,
        theme: str | None = None,
        start: Callable[[SlotviewApp], None] | None = None,
    ) -> None:
        super().__init__(theme)
        self.backend = backend
        self.dashboard = Dashboard(Feed(backend), refresh)
        self._start = start

    def get_default_screen(self) -> Screen[None]:
        """The dashboard is the first screen."""
        return self.dashboard

    def on_mount(self) -> None:
        """Start the backend once the first frame is drawn; before, its threads would only delay that."""
        self.call_after_refresh(self.backend.start)
        if self._start is not None:
            self.call_after_refresh(self._start, self)


def _collect_from_now_on() -> None:
    """Search only what comes later for garbage: all that was loaded stays, and one search of it takes 50 ms."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
