"""Standard input and output that are closed, full, or know few characters."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PLAN = "plan 'burst n=1 prompt=5 answer=2' -c 512 --slots 1"
pytestmark = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a POSIX shell and Linux's /dev/full")


def told(line: str, **variables: str) -> tuple[int, str]:
    """Run the program as a shell does; return the exit code, and all it said."""
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m slotview {line}"],
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        env={**os.environ, "SLOTVIEW_CONFIG": "does-not-exist.toml", **variables},
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    "words", [PLAN, "complete Anna -n 3", "--help", "--version", "attach http://127.0.0.1:1 --once --json"]
)
def test_a_full_disk_is_one_line(words: str) -> None:
    assert told(f"{words} > /dev/full") == (1, "slotview: standard output: No space left on device\n")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (f"{PLAN} >&-", 0),
        ("complete Anna -n 3 >&-", 0),
        ("complete Anna -n 3 <&- >&- 2>&-", 0),
        ("attach http://127.0.0.1:1 --once >&-", 3),
        ("-c -5 2>&-", 2),
    ],
)
def test_a_closed_output_is_no_error_of_its_own(line: str, code: int) -> None:
    assert told(line) == (code, "")


def test_a_closed_input_is_no_terminal() -> None:
    code, text = told("<&-")
    assert code == 2
    assert text.startswith("slotview: standard input is not a terminal")


def test_a_screen_is_not_drawn_into_a_file() -> None:
    import pty

    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "slotview"], check=False, stdin=theirs, stderr=subprocess.PIPE, text=True, timeout=60
    )
    os.close(ours)
    os.close(theirs)
    assert done.returncode == 2
    assert done.stderr.startswith("slotview: standard error is not a terminal, and the screen is drawn there")


def test_a_character_that_the_output_does_not_know_is_replaced() -> None:
    code, text = told("attach http://127.0.0.1:1 --once", PYTHONIOENCODING="ascii")
    assert code == 3
    assert text.startswith("http://127.0.0.1:1  ?")
