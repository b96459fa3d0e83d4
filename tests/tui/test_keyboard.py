"""What becomes of the app when its terminal is not what it should be."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminal of this kind")
WORDS = ["attach", "http://127.0.0.1:9"]
ATTACH = [sys.executable, "-m", "slotview", *WORDS]
IMPATIENT = """
from slotview.tui import signals
from slotview.tui.cli import main
signals.PATIENCE = 0.2
main()
"""
ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"  # the terminal's second screen


def read_until(terminal: int, wanted: bytes) -> None:
    """Read what is drawn until that is among it."""
    seen = b""
    while wanted not in seen:
        assert select.select([terminal], [], [], 30)[0], seen
        seen += os.read(terminal, 65536)


def test_the_app_ends_when_its_terminal_goes_away() -> None:
    """A session that has no controlling terminal gets no signal for it."""
    import pty

    ours, theirs = pty.openpty()
    child = subprocess.Popen(ATTACH, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    try:
        read_until(ours, b"127.0.0.1:9")
        os.close(ours)
        assert child.wait(60) == 129
    finally:
        child.kill()
        child.wait()


def test_a_terminal_without_a_size_is_drawn_on_once_and_left_on_sigterm() -> None:
    """Although it takes no output any more, as after Ctrl-S."""
    import pty
    import termios

    ours, theirs = pty.openpty()  # it has no lines and no columns
    attach = [sys.executable, "-c", IMPATIENT, *WORDS]
    child = subprocess.Popen(attach, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    try:
        read_until(ours, b"127.0.0.1:9")
        n_bytes, end = 0, time.monotonic() + 0.3
        while time.monotonic() < end:
            if select.select([ours], [], [], 0.1)[0]:
                n_bytes += len(os.read(ours, 65536))
        assert n_bytes < 30_000
        termios.tcflow(theirs, termios.TCOOFF)
        child.send_signal(signal.SIGTERM)
        assert child.wait(30) == 128 + signal.SIGTERM
    finally:
        child.kill()
        child.wait()
        os.close(ours)
        os.close(theirs)


def test_without_a_keyboard_one_line_says_so() -> None:
    done = subprocess.run(ATTACH, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "input is not a terminal" in done.stderr


@pytest.mark.parametrize("keys", [b"", b"?"])
def test_ctrl_z_gives_the_terminal_back_and_fg_takes_it_again(keys: bytes) -> None:
    import pty

    ours, theirs = pty.openpty()
    child = subprocess.Popen(ATTACH, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    try:
        read_until(ours, b"127.0.0.1:9")
        if keys:
            os.write(ours, keys)
            read_until(ours, b"Keys and numbers")
        os.write(ours, b"\x1a")
        read_until(ours, LEAVE)
        assert os.WIFSTOPPED(os.waitpid(child.pid, os.WUNTRACED)[1])
        os.killpg(child.pid, signal.SIGCONT)
        read_until(ours, ENTER)
        read_until(ours, b"127.0.0.1:9")
    finally:
        child.kill()
        child.wait()
        os.close(ours)
        os.close(theirs)
