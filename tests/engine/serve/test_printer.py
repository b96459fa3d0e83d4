"""The log when it cannot be written."""

from __future__ import annotations

import errno
import io
from pathlib import Path
from threading import Event

from slotview.engine.flags import parse_flags
from slotview.engine.serve.printer import LogPrinter


class Full(io.StringIO):
    """A file on a full disk."""

    def write(self, text: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


class Stuck(io.StringIO):
    """A pipe that nobody reads until ``wanted`` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.wanted = Event()

    def write(self, text: str) -> int:
        assert self.wanted.wait(20)
        return super().write(text)


def test_a_full_disk_ends_the_log_there_and_nothing_else(tmp_path: Path) -> None:
    printer = LogPrinter(parse_flags(["--log-file", str(tmp_path / "log")]), 0, Full())
    printer.line("I", "one")
    printer.line("I", "two")
    printer.close()
    assert [line[-3:] for line in (tmp_path / "log").read_text().splitlines()] == ["one", "two"]


def test_a_log_that_nobody_reads_holds_up_nobody() -> None:
    shown = Stuck()
    printer = LogPrinter(parse_flags([]), 0, shown)
    for number in range(100):
        printer.line("I", f"line {number}")
    assert not shown.getvalue()
    shown.wanted.set()
    printer.close()
    assert shown.getvalue().count("\n") == 100


def test_a_log_file_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("of yesterday\n")
    printer = LogPrinter(parse_flags(["--log-file", str(path)]), 0, io.StringIO())
    printer.line("I", "of today", 0)
    printer.close()
    assert path.read_text() == "0.00.000.000 I of today\n"


def test_a_log_file_that_cannot_be_opened_is_a_line_of_the_log(tmp_path: Path) -> None:
    shown = io.StringIO()
    LogPrinter(parse_flags(["--log-file", str(tmp_path / "none" / "log")]), 0, shown).close()
    assert shown.getvalue().endswith(f"no log to '{tmp_path / 'none' / 'log'}': No such file or directory\n")
