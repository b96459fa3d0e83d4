"""What becomes of the app when its terminal is not what it should be."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminal of this kind")
ATTACH = [sys.executable, "-m", "slotview", "attach", "http://127.0.0.1:9"]


def test_the_app_ends_when_its_terminal_goes_away() -> None:
    """A session that has no controlling terminal gets no signal for it."""
    import pty

    ours, theirs = pty.openpty()
    child = subprocess.Popen(ATTACH, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    seen = b""
    while b"127.0.0.1:9" not in seen:
        assert select.select([ours], [], [], 30)[0]
        seen += os.read(ours, 65536)
    os.close(ours)
    assert child.wait(30) == -signal.SIGHUP


def test_without_a_keyboard_one_line_says_so() -> None:
    done = subprocess.run(ATTACH, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "input is no terminal" in done.stderr
