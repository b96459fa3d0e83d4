"""What is printed if the app fails: the error and where it happened, without local variables or markup."""

from __future__ import annotations

import traceback

from rich.text import Text

from slotview.engine.text.plain import plain

__all__ = ["crash_report"]

_LINES = 12


def crash_report(error: BaseException | None) -> Text:
    """Say what failed in one line, after the innermost frames."""
    if error is None:
        return Text("slotview stopped because of an error that was not recorded.", style="red")
    frames = traceback.format_tb(error.__traceback__)[-_LINES:]
    head = f"slotview stopped because of an error: {type(error).__name__}: {plain(str(error))}"
    return Text.assemble(plain("".join(frames), 20_000, keep_newlines=True), "\n", (head, "bold red"))
