"""A real llama-server on a free port of this machine, for the tests marked ``llama_server``."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

__all__ = [
    "BUNDLED",
    "WHY_NOT",
    "LlamaServer",
    "StartServer",
    "llama_server",
    "model_path",
    "needed_binary",
    "real_binary",
]

BUNDLED = Path(__file__).resolve().parent.parent / "engine" / "model" / "data" / "slotview-1m.gguf"
WHY_NOT = "LLAMA_SERVER_BIN names no llama-server"
# One thread: on a busy machine, two that wait for each other are slower than one.
_QUIET = ("--no-ui", "--no-warmup", "-t", "1", "-fit", "off")


def real_binary() -> str:
    """The program that `LLAMA_SERVER_BIN` names; "" if there is none."""
    path = os.environ.get("LLAMA_SERVER_BIN", "")
    return path if Path(path).is_file() else ""


def needed_binary() -> str:
    """The same for a test, which is skipped without it."""
    return real_binary() or pytest.skip(WHY_NOT)


def model_path() -> Path:
    """The model to serve: `LLAMA_SERVER_MODEL`, else the bundled one."""
    return Path(os.environ.get("LLAMA_SERVER_MODEL") or BUNDLED)


class LlamaServer:
    """A running server; `restart` starts it again on the same port after it ended."""

    def __init__(self, binary: str, flags: tuple[str, ...], log: Path, env: dict[str, str]) -> None:
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._command = [binary, "--host", "127.0.0.1", "--port", str(self.port), *_QUIET, *flags]
        self._log = log
        self._env = {**os.environ, **env}
        self._process: subprocess.Popen[bytes] | None = None
        self.restart()

    @property
    def log(self) -> str:
        """What it has printed so far."""
        return self._log.read_text(errors="replace")

    def log_after(self, words: str) -> str:
        """Wait for these words in what it prints, which it does in a thread of its own; return all it has printed."""
        end = time.monotonic() + 30
        while words not in (log := self.log):
            assert time.monotonic() < end, log[-2000:]
            time.sleep(0.02)
        return log

    def restart(self) -> None:
        """Start it and wait until it answers."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log, env=self._env)
        end = time.monotonic() + 30
        while not self._is_healthy():
            if self._process.poll() is not None or time.monotonic() > end:
                self.kill()
                raise AssertionError(f"llama-server did not start:\n{self.log[-2000:]}")
            time.sleep(0.05)

    def _is_healthy(self) -> bool:
        with suppress(OSError, ValueError):
            return bool(self.get("/health", timeout=2))
        return False

    def get(self, path: str, timeout: float = 10, key: str = "") -> Any:
        """GET some JSON."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        request = urllib.request.Request(self.url + path, headers=headers)
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return json.load(answer)

    def post(self, path: str, body: dict[str, Any], timeout: float = 60) -> Any:
        """POST some JSON and return the JSON of the answer."""
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), method="POST")
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return json.load(answer)

    def send(self, number: int) -> None:
        """Send a signal to the process."""
        if self._process is not None:
            self._process.send_signal(number)

    def kill(self) -> None:
        """End it at once, as kill -9 does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)

    def stop(self) -> None:
        """End it for good, suspended or not."""
        if self._process is None or self._process.poll() is not None:
            return
        with suppress(ProcessLookupError):
            self._process.terminate()
            if hasattr(signal, "SIGCONT"):
                self._process.send_signal(signal.SIGCONT)
        try:
            self._process.wait(3)
        except subprocess.TimeoutExpired:
            self.kill()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


StartServer = Callable[..., LlamaServer]


@pytest.fixture
def llama_server(tmp_path: Path) -> Iterator[StartServer]:
    """Start servers with given flags; without ``model=None`` they serve `model_path`. All end with the test."""
    binary = needed_binary()
    started: list[LlamaServer] = []

    def start(*flags: str, model: Path | str | None = "", env: dict[str, str] | None = None) -> LlamaServer:
        served = model_path() if model == "" else model
        words = flags if served is None else ("-m", str(served), *flags)
        started.append(LlamaServer(binary, words, tmp_path / f"server{len(started)}.log", env or {}))
        return started[-1]

    yield start
    for server in started:
        server.stop()
