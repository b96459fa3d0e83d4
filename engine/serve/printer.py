"""The server's log on stderr, in llama-server's layout (spec §9.1)."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import TextIO

from ..flags import EngineFlags
from ..pace import microseconds

__all__ = ["LogPrinter"]

MOST_WAITING = 65536  # lines; more are dropped while whoever reads the log is stuck
LEVELS = {"E": ("error", 1), "W": ("warn", 2), "I": ("info", 3), "T": ("info", 4), "D": ("debug", 5)}


class LogPrinter:
    """Prints lines with the time since the start, in a thread of its own: a log that is stuck holds up nobody.

    A stream that takes no more, such as a file on a full disk or a closed pipe, is given up without a word.
    """

    def __init__(self, flags: EngineFlags, started_us: int, stream: TextIO | None = None) -> None:
        self._flags = flags
        self._started = started_us
        self._streams = [stream or (sys.stdout if flags.log_jsonl else sys.stderr)]
        self._lines: SimpleQueue[str | None] = SimpleQueue()
        self._thread = Thread(target=self._print, name="slotview-printer", daemon=True)
        self._thread.start()
        self._file = self._opened(flags.log_file) if flags.log_file else None
        if self._file:
            self._streams.append(self._file)

    def _opened(self, path: str) -> TextIO | None:
        """The file to log to as well; None where it cannot be opened."""
        try:
            return Path(path).open("w", encoding="utf-8")
        except OSError as error:
            self.line("W", f"cmn    log_file: no log to '{path}': {error.strerror}")
            return None

    def close(self) -> None:
        """Print what waits; whoever reads it has a second."""
        self._lines.put(None)
        self._thread.join(1.0)
        if self._file and not self._thread.is_alive():
            with suppress(OSError):
                self._file.close()

    def line(self, level: str, text: str, now_us: int | None = None) -> None:
        """Print one line of level E, W, I, T (trace) or D, if ``-lv`` wants it."""
        word, verbosity = LEVELS[level]
        if verbosity > self._flags.verbosity:
            return
        elapsed = (microseconds() if now_us is None else now_us) - self._started
        if self._flags.log_jsonl:
            record = {"type": "log", "time": elapsed, "level": word, "msg": text + "\n"}
            shown = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
        else:
            shown = self._prefix(level, elapsed) + text
        if self._lines.qsize() < MOST_WAITING:
            self._lines.put(shown)

    def _prefix(self, level: str, elapsed: int) -> str:
        if not self._flags.log_prefix:
            return ""
        letter = "I" if level == "T" else level
        if not self._flags.log_timestamps:
            return f"{letter} "
        seconds, micro = divmod(max(0, elapsed), 1_000_000)
        return f"{seconds // 60}.{seconds % 60:02d}.{micro // 1000:03d}.{micro % 1000:03d} {letter} "

    def _print(self) -> None:
        """What the thread does."""
        while (line := self._lines.get()) is not None:
            for stream in tuple(self._streams):
                try:
                    stream.write(line + "\n")
                    stream.flush()
                except (OSError, ValueError):
                    self._give_up(stream)

    def _give_up(self, stream: TextIO) -> None:
        """Write nothing more to a stream, and let nothing that it still holds be written at the end."""
        self._streams.remove(stream)
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
