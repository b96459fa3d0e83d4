"""A child behind its guard."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from queue import Queue

import pytest

from slotview.engine.backend import BackendError
from slotview.engine.runner import process
from slotview.engine.runner.process import LONGEST_LINE, ServerProcess, find_binary, without_address

CHILD = """#!{python}
import os, sys, time
print("pid", os.getpid(), *sys.argv[1:], flush=True)
time.sleep(60)
"""
OWNER = """
import sys
from slotview.engine.runner.process import ServerProcess
child = ServerProcess(sys.argv[1], [], lambda line: print(line, flush=True))
sys.stdin.read()
"""


@pytest.fixture
def binary(tmp_path: Path) -> str:
    if os.name == "nt":
        pytest.skip("a script cannot be started as a program on Windows")
    path = tmp_path / "server"
    path.write_text(CHILD.format(python=sys.executable))
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def impatient_guard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A guard that waits less long than a real server may need."""
    code = process.GUARD.read_text()
    path = tmp_path / "guard.py"
    path.write_text(code.replace("PATIENCE = 3.0", "PATIENCE = 0.2"))
    assert path.read_text() != code
    monkeypatch.setattr(process, "GUARD", path)


def wait_gone(pid: int) -> bool:
    """Wait for a process that is not our child through its pidfd."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    import select

    gone = bool(select.select([fd], [], [], 10)[0])
    os.close(fd)
    return gone


def ended_script(folder: Path, code: str) -> ServerProcess:
    """A script that was started as a server and has ended."""
    if os.name == "nt":
        pytest.skip("a script cannot be started as a program on Windows")
    path = folder / "server"
    path.write_text(f"#!{sys.executable}\n{code}")
    path.chmod(0o755)
    child = ServerProcess(str(path), [], lambda line: None)
    child._process.wait(20)
    return child


def test_stopping_ends_the_child(binary: str) -> None:
    lines: Queue[str] = Queue()
    child = ServerProcess(binary, ["-np", "2", "--port", "1"], lines.put)
    words = lines.get(timeout=20).split()
    assert words[2:6] == ["-np", "2", "--host", "127.0.0.1"]
    assert words[-1] == str(child.port)
    child.stop()
    assert wait_gone(int(words[1]))


def test_the_child_listens_where_it_was_asked_to(binary: str) -> None:
    lines: Queue[str] = Queue()
    child = ServerProcess(binary, ["--host", "0.0.0.0", "--port", "8080"], lines.put, host="0.0.0.0", port=8080)
    assert lines.get(timeout=20).split()[2:] == ["--host", "0.0.0.0", "--port", "8080"]
    child.stop()


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux's pidfd to watch a stranger's child")
@pytest.mark.parametrize(
    "script_line", ['"$0.bin" "$@"', 'trap \'\' TERM\n"$0.bin" "$@"', 'setsid "$0.bin" "$@" & wait']
)
@pytest.mark.usefixtures("impatient_guard")
def test_a_script_around_the_server_ends_with_the_server(binary: str, tmp_path: Path, script_line: str) -> None:
    script = tmp_path / "wrapper"
    Path(binary).rename(tmp_path / "wrapper.bin")
    script.write_text(f"#!/bin/sh\n{script_line}\necho over\n")
    script.chmod(0o755)
    lines: Queue[str] = Queue()
    child = ServerProcess(str(script), [], lines.put)
    pid = int(lines.get(timeout=20).split()[1])
    child.stop()
    assert wait_gone(pid)


def test_output_without_line_ends_is_cut_into_lines(tmp_path: Path) -> None:
    child = ended_script(tmp_path, "print('x' * 100_000, end='')\n")
    lines = child.last_words(100)
    child.stop()
    assert max(map(len, lines)) == LONGEST_LINE
    assert sum(map(len, lines)) == 100_000


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux's pidfd to watch a stranger's child")
def test_no_orphan_is_left_when_the_owner_is_killed(binary: str) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout
    assert owner.stdin
    pid = int(owner.stdout.readline().split()[1])
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    assert wait_gone(pid)
    owner.stdin.close()
    owner.stdout.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
def test_no_orphan_is_left_when_the_guard_is_killed(binary: str) -> None:
    lines: Queue[str] = Queue()
    child = ServerProcess(binary, [], lines.put)
    pid = int(lines.get(timeout=20).split()[1])
    child._process.kill()
    assert wait_gone(pid)
    child._process.wait(20)
    assert child.exit_code == 128 + signal.SIGKILL
    child.stop()


def test_a_failed_start_leaves_its_last_words(tmp_path: Path) -> None:
    child = ended_script(tmp_path, "print('error: no such model')\nraise SystemExit(3)\n")
    assert child.exit_code == 3
    assert child.last_words() == ["error: no such model"]
    child.stop()


def test_a_server_that_ends_by_itself_without_an_error_has_exit_code_0(tmp_path: Path) -> None:
    child = ended_script(tmp_path, "")
    assert child.exit_code == 0
    child.stop()


def test_a_missing_binary_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("LLAMA_SERVER_BIN", raising=False)
    with pytest.raises(BackendError, match="--server-bin PATH or LLAMA_SERVER_BIN"):
        find_binary(None)


def test_the_binary_is_found_by_option_then_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMA_SERVER_BIN", sys.executable)
    assert find_binary(None) == sys.executable
    assert find_binary("python3").endswith("python3")


def test_our_address_replaces_the_users() -> None:
    assert without_address(["--host", "0.0.0.0", "-np", "2", "--port=9"]) == ["-np", "2"]


def test_a_wanted_port_is_kept_unless_somebody_has_taken_it() -> None:
    wanted = process.free_port()
    assert process.free_port(wanted) == wanted
    with socket.create_server(("127.0.0.1", wanted)):
        assert process.free_port(wanted) not in (wanted, 0)
