"""One running server, real or ours, started with the same words."""

from __future__ import annotations

import http.client
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from tests.real_server import WHY_NOT, real_binary

__all__ = ["MODEL", "REAL", "WHY_NOT", "Server", "free_port", "start"]

REAL = real_binary()
MODEL = os.environ.get("SLOTVIEW_TEST_MODEL") or str(files("slotview.engine.model") / "data" / "slotview-1m.gguf")
COMMANDS = {"real": (REAL,), "ours": (sys.executable, "-m", "slotview", "serve")}
START_SECONDS = 60.0


def free_port() -> int:
    """Return a port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass(slots=True)
class Server:
    """A child process; ``folder`` holds its log and its save files."""

    name: str
    port: int
    folder: Path
    process: subprocess.Popen[bytes]
    prefix: str = ""
    keep: list[object] = field(default_factory=list)

    @property
    def log(self) -> str:
        """Everything it printed so far."""
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")

    def wait_ready(self) -> None:
        """Wait until it answers with something else than "loading"."""
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise RuntimeError(f"{self.name} ended at its start:\n{self.log}")
            if self._status() == 200:
                return
            time.sleep(0.02)
        raise RuntimeError(f"{self.name} is not ready after {START_SECONDS:.0f} s:\n{self.log}")

    def _status(self) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", f"{self.prefix}/health")
            return connection.getresponse().status
        except OSError:
            return 0
        finally:
            connection.close()

    def stop(self) -> None:
        """End the process and remove its folder."""
        self.process.terminate()
        try:
            self.process.wait(2)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def start(name: str, flags: Sequence[str], environment: Sequence[tuple[str, str]] = ()) -> Server:
    """Start "real" or "ours"; the word SAVES among the flags stands for a folder of its own."""
    folder = Path(tempfile.mkdtemp(prefix=f"slotview-{name}-"))
    port = free_port()
    words = [str(folder) if word == "SAVES" else word for word in flags]
    model = () if "-m" in words else ("-m", MODEL)
    command = [*COMMANDS[name], *model, "--port", str(port), *words]
    quiet = {key: value for key, value in os.environ.items() if not key.startswith("LLAMA_")}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=quiet | dict(environment)
        )
    prefix = words[words.index("--api-prefix") + 1] if "--api-prefix" in words else ""
    return Server(name, port, folder, process, prefix)
