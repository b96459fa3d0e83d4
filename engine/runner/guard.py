"""A small process that owns the server: when the pipe to slotview closes, however that came about, it ends it.

Run as ``python guard.py COMMAND…`` with a pipe as standard input. Uses the standard library only, so that it starts
quickly and keeps little memory.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from threading import Thread

PATIENCE = 3.0


def main() -> int:
    """Start the command, wait for it or for the pipe's end, and return its exit code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
    except OSError as error:
        sys.stderr.write(f"cannot start {sys.argv[1]}: {error.strerror or error}\n")
        return 127
    Thread(target=_watch_pipe, args=(child,), daemon=True).start()
    code = child.wait()
    return code if code >= 0 else 128 - code


def _watch_pipe(child: subprocess.Popen[bytes]) -> None:
    """Block until the pipe ends, then end the child: kindly, and after some seconds by force."""
    while os.read(0, 1024):
        pass
    child.terminate()
    try:
        child.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()


if __name__ == "__main__":
    sys.exit(main())
