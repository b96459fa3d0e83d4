"""Opening the screen: which options it takes, what it needs of the terminal, and how it is left."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct

from .common import fail

if TYPE_CHECKING:
    from slotview.engine.backend import Backend
    from slotview.engine.settings import Settings

    from ..app import BaseApp

__all__ = ["ScreenOptions", "chosen_refresh", "chosen_theme", "open_dashboard", "run_app"]

DUMB_TERMINALS = ("dumb", "unknown")
INSTEAD = "`slotview attach URL --once` prints a snapshot"
SHORTEST_REFRESH, LONGEST_REFRESH = 0.05, 10.0
"""Seconds, the same limits as in the configuration file."""


class ScreenOptions(Struct, frozen=True):
    """How to show what is watched; None = as configured, else the default.

    ``refresh``: seconds between refreshes. ``record``: a file to keep what is seen in.
    """

    refresh: float | None = None
    theme: str | None = None
    record: str | None = None


def open_dashboard(backend: Backend, options: ScreenOptions, saved: Settings | None) -> None:
    """Show a backend until the user quits, then close it."""
    from ..app import SlotviewApp

    refresh = chosen_refresh(options, saved, default=0.25)
    app = SlotviewApp(backend, refresh=refresh, theme=chosen_theme(options, saved))
    with _recorded(backend, options.record, app.warn):
        run_app(app, backend)


def run_app(app: BaseApp[None], *backends: Backend) -> None:
    """Run an app, then close the backends it shows; exits with the app's return code unless that is 0.

    The app needs a terminal to read keys from and to draw on, unless Textual is told to use another driver.
    """
    try:
        if "TEXTUAL_DRIVER" not in os.environ:
            _check_terminal()
        app.run()
    finally:
        for backend in backends:
            backend.close()
    if app.copied_command:
        print(app.copied_command)
    if app.return_code:
        sys.exit(app.return_code)


def _check_terminal() -> None:
    """Exit with one line if this is no place for a screen."""
    if os.environ.get("TERM") in DUMB_TERMINALS:
        fail(f"TERM={os.environ['TERM']}: no screen can be drawn on this terminal; {INSTEAD}", 2)
    if not sys.stdin.isatty():
        fail(f"standard input is not a terminal, so no key could be pressed; {INSTEAD}", 2)
    if not sys.stderr.isatty():
        fail(f"standard error is not a terminal, and the screen is drawn there; {INSTEAD}", 2)


@contextmanager
def _recorded(backend: Backend, path: str | None, warn: Callable[[str], None]) -> Iterator[None]:
    """Record a backend meanwhile, if a file is named; ``warn`` hears, in another thread, why it stops early."""
    if path is None:
        yield
        return
    from slotview.engine.backend import BackendError
    from slotview.engine.observe.recording.tape import Tape

    try:
        tape = Tape(backend, path, tell=warn)
    except BackendError as error:
        fail(error, 2)
    try:
        yield
    finally:
        tape.close()
    if tape.error:
        fail(tape.error)


def chosen_refresh(options: ScreenOptions, saved: Settings | None, *, default: float) -> float:
    """Seconds between refreshes: as typed, else as configured; exits with one line if that is out of range."""
    typed = options.refresh
    if typed is not None and not SHORTEST_REFRESH <= typed <= LONGEST_REFRESH:
        fail(f"--refresh {typed:g}: use seconds from {SHORTEST_REFRESH:g} to {LONGEST_REFRESH:g}", 2)
    return typed or (saved.refresh if saved else None) or default


def chosen_theme(options: ScreenOptions, saved: Settings | None) -> str | None:
    """Name of the theme: as typed, else as configured, else one that the terminal's colours can show.

    Exits with one line if there is no such theme.
    """
    name = options.theme or (saved.theme if saved else None)
    if name is None:
        return _fitting_theme()
    from textual.theme import BUILTIN_THEMES

    from slotview.engine.text.plain import plain

    from ..theme import THEMES

    names = [*(theme.name for theme in THEMES), *BUILTIN_THEMES]
    if name not in names:
        fail(f"there is no theme {plain(name)}; there are: {', '.join(names)}", 2)
    return name


def _fitting_theme() -> str | None:
    """In 16 colours nearly all of ours turn white; a theme of the terminal's own colours does not."""
    from rich.console import Console

    return "ansi-dark" if Console(force_terminal=True).color_system == "standard" else None
