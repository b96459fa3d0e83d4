"""A small process that owns the server: when the pipe to slotview closes, however that came about, it ends it.

Run as ``python guard.py COMMAND…`` with a pipe as standard input. Uses the standard library only, so that it starts
quickly and keeps little memory. Should the guard itself be killed, Linux ends the server.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from threading import Thread

PATIENCE = 3.0
PR_SET_PDEATHSIG = 1


def main() -> int:
    """Start the command, wait for it or for the pipe's end, and return its exit code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        child = subprocess.Popen(
            sys.argv[1:],
            stdin=subprocess.DEVNULL,
            start_new_session=sys.platform != "win32",
            preexec_fn=_end_with_parent(),  # noqa: PLW1509 (no thread runs yet)
        )
    except OSError as error:
        sys.stderr.write(f"cannot start {sys.argv[1]}: {error.strerror or error}\n")
        return 127
    Thread(target=_watch_pipe, args=(child,), daemon=True).start()
    code = child.wait()
    _end_others(child.pid)
    return code if code >= 0 else 128 - code


def _end_with_parent() -> Callable[[], object] | None:
    """What the child does before it becomes the command, so that it does not outlive the guard."""
    if sys.platform != "linux":
        return None
    import ctypes

    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _watch_pipe(child: subprocess.Popen[bytes]) -> None:
    """Block until the pipe ends, then end the child: kindly, and after some seconds by force."""
    while os.read(0, 1024):
        pass
    _signal(child, kindly=True)
    try:
        child.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        _signal(child, kindly=False)


def _signal(child: subprocess.Popen[bytes], *, kindly: bool) -> None:
    """To the command and all that it started: it may be a script around the server."""
    if sys.platform == "win32":
        child.terminate() if kindly else child.kill()
    else:
        _signal_group(child.pid, signal.SIGTERM if kindly else signal.SIGKILL)


def _end_others(group: int) -> None:
    """What the command leaves behind has no screen any more, and would keep its port and memory."""
    if sys.platform != "win32" and _signal_group(group, signal.SIGTERM):
        end = time.monotonic() + PATIENCE
        while _signal_group(group, 0):
            if time.monotonic() > end:
                _signal_group(group, signal.SIGKILL)
                return
            time.sleep(0.02)


if sys.platform != "win32":

    def _signal_group(group: int, number: int) -> bool:
        """Whether there was still somebody to hear it."""
        try:
            os.killpg(group, number)
        except OSError:
            return False
        return True


if __name__ == "__main__":
    sys.exit(main())
