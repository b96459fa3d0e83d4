"""A llama-server as our child, behind a guard: finding the binary, starting and stopping it, and its last words."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Thread

from ..backend import BackendError

__all__ = ["ServerProcess", "find_binary", "free_port"]

KEPT_LINES = 2000
LONGEST_LINE = 16_384  # bytes; a longer one is cut into several
ADDRESS = ("--host", "--port")
GUARD = Path(__file__).with_name("guard.py")


def find_binary(given: str | None) -> str:
    """Find the binary by the option, ``LLAMA_SERVER_BIN``, or PATH. Raises `BackendError`."""
    name = given or os.environ.get("LLAMA_SERVER_BIN") or "llama-server"
    found = shutil.which(name)
    if found is None:
        raise BackendError(
            f"{name}: no such program, or none that may be started; "
            "name the llama-server binary with --server-bin PATH or LLAMA_SERVER_BIN"
        )
    return found


def free_port(wanted: int | None = None) -> int:
    """A port of the loopback address that is free at the moment; ``wanted``, if that is free."""
    with socket.socket() as probe:
        if os.name != "nt":  # there it would take the port from a server that has it
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted or 0))
        except OSError:
            if wanted is None:
                raise
            return free_port()
        port: int = probe.getsockname()[1]
        return port


def without_address(arguments: Sequence[str]) -> list[str]:
    """Drop ``--host`` and ``--port``, which are put at the end instead."""
    kept: list[str] = []
    skip = False
    for word in arguments:
        if skip:
            skip = False
        elif word in ADDRESS:
            skip = True
        elif not word.startswith(tuple(f"{name}=" for name in ADDRESS)):
            kept.append(word)
    return kept


class ServerProcess:
    """One run of the server. ``on_line`` is called for each log line, in a thread of its own; port None = any free;
    ``environ`` None = as ours.
    """

    def __init__(
        self,
        binary: str,
        arguments: Sequence[str],
        on_line: Callable[[str], None],
        *,
        host: str = "127.0.0.1",
        port: int | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.port = port or free_port()
        self.lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._on_line = on_line
        place = ["--host", host, "--port", str(self.port)]
        self._process = subprocess.Popen(
            [sys.executable, "-I", str(GUARD), binary, *without_address(arguments), *place],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environ,
            start_new_session=os.name != "nt",
        )
        self._reader = Thread(target=self._read, name="slotview-child-log", daemon=True)
        self._reader.start()

    @property
    def exit_code(self) -> int | None:
        """None while it runs; above 128 if a signal ended it, or ended its guard and thus it."""
        code = self._process.poll()
        return code if code is None or code >= 0 else 128 - code

    def last_words(self, count: int = 5) -> list[str]:
        """Its last log lines."""
        self._reader.join(timeout=0.5)
        return list(self.lines)[-count:]

    def stop(self, timeout: float = 8.0) -> None:
        """End it through its guard; idempotent."""
        if self._process.stdin and not self._process.stdin.closed:
            self._process.stdin.close()
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(timeout=1.0)
        if self._process.stdout and not self._reader.is_alive():  # else closing would wait for it
            self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        while raw := self._process.stdout.readline(LONGEST_LINE):
            line = raw.decode("utf-8", "replace").rstrip("\r\n")
            self.lines.append(line)
            self._on_line(line)
