"""Entry point. To load Typer, which tells the commands apart, takes as long as to draw the dashboard.

So the one call that should show something at once goes past it: ``attach`` as it is usually typed.
"""

from __future__ import annotations

import gc
import os
import signal
import sys

__all__ = ["main"]


def main() -> None:
    """Run what was typed."""
    words = sys.argv[1:]
    if words[:1] != ["attach"] or not _attach(words[1:]):
        from .cli_commands import run_command

        run_command(words)


def _attach(words: list[str]) -> bool:
    """Watch servers elsewhere; False where the words are not the usual ones, and nothing was done."""
    gc.disable()  # until the first frame is drawn: what is loaded by then stays, and holds no garbage worth the search
    from .cli_attach import read_attach
    from .start import start_attach

    usual = read_attach(words, os.environ)
    if usual is None:
        gc.enable()
        return False
    try:
        start_attach(usual.urls, usual.options, refresh=usual.refresh, theme=usual.theme)
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    return True
