"""A small process that owns the server: when the pipe to slotview closes, however that came about, it ends it.

Run as ``python guard.py COMMAND…`` with a pipe as standard input. Uses the standard library only, so that it starts
quickly and keeps little memory. On Linux it also ends what left the server's session, and should the guard itself be
killed, the system ends the server.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread

PATIENCE = 3.0
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
if sys.platform == "win32":
    FORCE = signal.SIGTERM
else:
    FORCE = signal.SIGKILL


def main() -> int:
    """Start the command, wait for it or for the pipe's end, and return its exit code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _adopt_orphans()
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
    _end_group(child.pid)
    _end_adopted()
    return code if code >= 0 else 128 - code


def _adopt_orphans() -> None:
    """Become the parent of whatever loses its own below this process."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _end_with_parent() -> Callable[[], object] | None:
    """What the child does before it becomes the command, so that it does not outlive the guard."""
    if sys.platform != "linux":
        return None
    import ctypes

    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(PR_SET_PDEATHSIG, FORCE)


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
        _signal_group(child.pid, signal.SIGTERM if kindly else FORCE)


def _end_group(group: int) -> None:
    """What the command leaves behind has no screen any more, and would keep its port and memory."""
    if sys.platform != "win32" and _signal_group(group, signal.SIGTERM):
        end = time.monotonic() + PATIENCE
        while _signal_group(group, 0):
            if time.monotonic() > end:
                _signal_group(group, FORCE)
                return
            _reap()
            time.sleep(0.02)


def _end_adopted() -> None:
    """End what had left the command's group, as a daemon does."""
    begin = time.monotonic()
    while (adopted := _adopted()) and time.monotonic() < begin + 2 * PATIENCE:
        for pid in adopted:
            os.kill(pid, signal.SIGTERM if time.monotonic() < begin + PATIENCE else FORCE)
        time.sleep(0.02)
        _reap()


def _adopted() -> list[int]:
    """Children of this process; only Linux tells. The command itself has ended."""
    pids: list[str] = []
    for file in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):  # a thread that has just ended
            pids += file.read_text(encoding="ascii").split()
    return list(map(int, pids))


def _reap() -> None:
    """Take note of the children that have ended: until somebody does, they count as members of their group."""
    if sys.platform != "win32":
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass


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
