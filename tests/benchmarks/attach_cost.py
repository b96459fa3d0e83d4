"""``slotview attach`` beside llamastat on the same server: first frame, share of a core, memory. Interleaved.

Both run from bytecode, as they do where they are installed, whatever the environment says about writing any.
Needs LLAMA_SERVER_BIN, and llamastat in a venv of its own (``LLAMASTAT`` names the program).
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from slotview.engine.runner.process import free_port

MODEL = Path(__file__).resolve().parents[2] / "engine" / "model" / "data" / "slotview-1m.gguf"
ROWS, COLUMNS = 45, 140
PAIRS = 5
WATCHED_SECONDS = 10.0
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Cost:
    """Seconds to the first frame, share of a core in percent afterwards, MiB of memory."""

    first_frame: float
    cpu: float
    memory: float


@contextmanager
def server(n_slots: int) -> Iterator[str]:
    """A llama-server on a free port."""
    port = free_port()
    words = [os.environ["LLAMA_SERVER_BIN"], "-m", str(MODEL), "-np", str(n_slots), "-c", str(256 * n_slots)]
    child = subprocess.Popen(
        [*words, "--port", str(port), "--metrics", "--no-ui"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(200):
            try:
                if httpx.get(f"{url}/health").status_code == 200:
                    break
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        yield url
    finally:
        child.kill()
        child.wait()


def watch(words: list[str], mark: bytes) -> Cost:
    """Run a program in a terminal until its first frame (``mark`` is drawn), then watch what it costs."""
    began = time.perf_counter()
    child, terminal = pty.fork()
    if child == 0:
        os.environ["TERM"] = "xterm-256color"
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.execvp(words[0], words)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    seen = _read_until(terminal, mark, began + 20)
    first_frame = time.perf_counter() - began
    if mark not in seen:
        first_frame = float("nan")
    _drain(terminal, 2.0)
    before = _ticks(child)
    start = time.perf_counter()
    _drain(terminal, WATCHED_SECONDS)
    cpu = 100 * (_ticks(child) - before) / TICKS / (time.perf_counter() - start)
    memory = _memory(child)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(terminal)
    return Cost(first_frame, cpu, memory)


def _read_until(terminal: int, mark: bytes, deadline: float) -> bytes:
    seen = b""
    while mark not in seen and time.perf_counter() < deadline:
        if select.select([terminal], [], [], 0.05)[0]:
            seen += _read(terminal)
    return seen


def _drain(terminal: int, seconds: float) -> None:
    deadline = time.perf_counter() + seconds
    while (left := deadline - time.perf_counter()) > 0:
        if select.select([terminal], [], [], left)[0]:
            _read(terminal)


def _read(terminal: int) -> bytes:
    """What the program drew; ends the benchmark in one line where it has ended instead."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        sys.exit("the watched program ended by itself; run it by hand to see why")


def _ticks(process: int) -> int:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _memory(process: int) -> float:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))


def programs(url: str) -> dict[str, tuple[list[str], bytes]]:
    """The command lines, and what only a drawn frame holds."""
    ours = [sys.executable, "-m", "slotview", "attach", url]
    found = {"slotview": ([*ours, "--interval", "1", "--no-backoff"], b"Slots")}
    other = os.environ.get("LLAMASTAT") or shutil.which("llamastat")
    if other:
        found["llamastat"] = ([other, "-u", url, "--no-host"], b"lot")
    return found


def main() -> None:
    """Measure in turns and print medians."""
    if "LLAMA_SERVER_BIN" not in os.environ:
        sys.exit("LLAMA_SERVER_BIN names no llama-server")
    for n_slots in (4, 32):
        with server(n_slots) as url:
            costs: dict[str, list[Cost]] = {name: [] for name in programs(url)}
            for turn in range(1 + PAIRS):  # the first one only writes the bytecode
                for name, (words, mark) in programs(url).items():
                    cost = watch(words, mark)
                    if turn:
                        costs[name].append(cost)
        for name, runs in costs.items():
            first, cpu, memory = (
                statistics.median(getattr(run, field) for run in runs) for field in ("first_frame", "cpu", "memory")
            )
            print(f"{n_slots:3} slots  {name:10} first frame {first:.2f} s  {cpu:.1f} % of a core  {memory:.0f} MiB")


if __name__ == "__main__":
    main()
