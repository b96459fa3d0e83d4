"""The server's log on stderr, in llama-server's layout (spec §9.1)."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from threading import Lock
from typing import TextIO

from ..flags import EngineFlags
from ..pace import microseconds

__all__ = ["LogPrinter"]

LEVELS = {"E": ("error", 1), "W": ("warn", 2), "I": ("info", 3), "T": ("info", 4), "D": ("debug", 5)}


class LogPrinter:
    """Prints lines with the time since the start. Thread-safe."""

    def __init__(self, flags: EngineFlags, started_us: int, stream: TextIO | None = None) -> None:
        self._flags = flags
        self._started = started_us
        self._lock = Lock()
        self._file = Path(flags.log_file).open("a", encoding="utf-8") if flags.log_file else None  # noqa: SIM115
        self._stream = stream

    def line(self, level: str, text: str, now_us: int | None = None) -> None:
        """Print one line of level E, W, I, T (trace) or D, if ``-lv`` wants it."""
        word, verbosity = LEVELS[level]
        if verbosity > self._flags.verbosity:
            return
        elapsed = (microseconds() if now_us is None else now_us) - self._started
        if self._flags.log_jsonl:
            record = {"type": "log", "time": elapsed, "level": word, "msg": text + "\n"}
            self._write(json.dumps(record, ensure_ascii=False, separators=(",", ":")), sys.stdout)
        else:
            self._write(self._prefix(level, elapsed) + text, sys.stderr)

    def _prefix(self, level: str, elapsed: int) -> str:
        if not self._flags.log_prefix:
            return ""
        letter = "I" if level == "T" else level
        if not self._flags.log_timestamps:
            return f"{letter} "
        seconds, micro = divmod(max(0, elapsed), 1_000_000)
        return f"{seconds // 60}.{seconds % 60:02d}.{micro // 1000:03d}.{micro % 1000:03d} {letter} "

    def _write(self, line: str, default: TextIO) -> None:
        with self._lock:
            for stream in (self._stream or default, self._file):
                if stream is not None:
                    stream.write(line + "\n")
                    stream.flush()
