"""The command line. Loading Typer, which tells the commands apart, takes as long as drawing the dashboard.

So the one command that should show something at once bypasses it: ``attach``, as it is usually typed.
"""

from __future__ import annotations

import gc
import signal
import sys

from .common import fail
from .streams import drop_output, prepare_streams

__all__ = ["main"]


def main() -> None:
    """Run what was typed; ctrl+c ends it without a word, also while it is being loaded."""
    prepare_streams()
    try:
        _run(sys.argv[1:])
        sys.stdout.flush()
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    except OSError as error:  # those of files and sockets are told where they happen
        drop_output()
        fail(f"{error.filename or 'standard output'}: {error.strerror}")


def _run(words: list[str]) -> None:
    if words[:1] != ["attach"] or not _attach(words[1:]):
        from .commands import run_command

        run_command(words)


def _attach(words: list[str]) -> bool:
    """Watch servers elsewhere; False if the words are not the usual ones, and nothing was done."""
    gc.disable()  # until the first frame is drawn: what is loaded by then stays, so there is no garbage to find
    from .attach import start_attach
    from .quick_attach import read_attach

    usual = read_attach(words)
    if usual is None:
        gc.enable()
        return False
    start_attach(usual.urls, usual.options, usual.screen)
    return True
