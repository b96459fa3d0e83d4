"""llama-cli, llama.cpp's own client, has the same conversation with both servers."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from .servers import REAL, Server, start

CLIENT = Path(REAL).with_name("llama-cli") if REAL else Path("llama-cli")
pytestmark = [
    pytest.mark.llama_server,
    pytest.mark.skipif(not CLIENT.is_file(), reason="no llama-cli stands beside LLAMA_SERVER_BIN"),
]
FLAGS = ("-c", "512", "-np", "2", "-t", "1", "--no-warmup", "--no-ui", "-ctk", "f32", "-ctv", "f32", "-fa", "off")
VARYING = re.compile(r"http://\S+|build +: .*|model +: .*|[\d.]+ t/s")


def _conversation(name: str, typed: str, *words: str) -> str:
    server = start(name, (*FLAGS, "--temp", "0"))
    try:
        server.wait_ready()
        return VARYING.sub("…", _talk(server, typed, words))
    finally:
        server.stop()


def _talk(server: Server, typed: str, words: tuple[str, ...]) -> str:
    command = [str(CLIENT), "--server-base", f"http://127.0.0.1:{server.port}", "--simple-io", *words]
    return subprocess.run(command, input=typed, capture_output=True, text=True, timeout=60, check=True).stdout


def test_it_hears_the_same_from_both(tmp_path: Path) -> None:
    long = tmp_path / "long.txt"
    long.write_text("word " * 2000, encoding="utf-8")
    typed = f"What is a slot?\nHi\n/regen\n/clear\n/read {long}\nSay it again.\n/clear\nHi\n/exit\n"
    real, ours = (_conversation(name, typed, "-sys", "Be kind.") for name in ("real", "ours"))
    assert "A slot is" in real
    assert "exceeds the available context size" in real
    assert ours == real
