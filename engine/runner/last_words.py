"""Why a llama-server ended, in one line: how, and the line of its log that explains it best."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence

from ..text.plain import plain
from .log_line import Told, read_line

__all__ = ["how_it_ended"]

ABORTED = re.compile(r"GGML_ASSERT|GGML_ABORT|terminate called|what\(\):|CUDA error|fatal error")
LONGEST = 200  # characters
_FROM_OUTSIDE = {
    "SIGKILL": ", as the system does when memory runs out",
    "SIGTERM": ": someone asked it to end",
    "SIGINT": ": someone asked it to end",
    "SIGHUP": ": someone asked it to end",
}
"""Signals that do not come from an error of its own, and what they suggest."""


def how_it_ended(exit_code: int, lines: Sequence[str]) -> str:
    """Explain an exit code (above 128 a signal's, as in shells) with the last lines of the log."""
    killer = _signal_name(exit_code)
    told = [read_line(line) for line in lines if line.strip()]
    last = told[-1].text if told else ""
    aborted = next((line.text for line in told if ABORTED.search(line.text)), None)
    if killer in _FROM_OUTSIDE:  # without warning, so that no line of the log has to do with it
        return f"llama-server was killed by {killer}{_FROM_OUTSIDE[killer]}"
    if killer:
        return _line(f"llama-server was killed by {killer}", aborted or last)
    # Errors come in a row, as each caller reports the one before: the first says what was wrong.
    error = next((line.text for line in told if _is_error(line)), None)
    return _line(f"llama-server ended with exit code {exit_code}", aborted or error or last)


def _line(how: str, told: str) -> str:
    words = plain(" ".join(told.split()), LONGEST)
    return f"{how}: {words}" if words else how


def _is_error(line: Told) -> bool:
    return line.level == "E" or (line.level is None and line.text.startswith("error"))


def _signal_name(exit_code: int) -> str | None:
    try:
        return signal.Signals(exit_code - 128).name if exit_code > 128 else None
    except ValueError:
        return None
