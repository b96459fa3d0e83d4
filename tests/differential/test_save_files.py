"""Save files: what one writes the other reads, in both directions."""

from __future__ import annotations

import shutil

import pytest

from .cases.prompts import tokens
from .client import Client
from .servers import REAL, WHY_NOT, Server, start

pytestmark = [
    pytest.mark.llama_server,
    pytest.mark.skipif(not REAL, reason=WHY_NOT),
]
PROMPT = tokens(90, 4)


@pytest.mark.parametrize("mode", ["-np 3", "-np 3 -kvu"])
@pytest.mark.parametrize("kind", ["f32", "f16", "q8_0"])
def test_a_file_of_one_restores_in_the_other(kind: str, mode: str) -> None:
    exact = ["-fa", "off"] if kind == "f32" else []
    flags = ["-c", "1024", "-t", "1", "--no-warmup", "--no-ui", "-ctk", kind, "-ctv", kind, *exact, *mode.split()]
    servers = [start(name, [*flags, "--slot-save-path", "SAVES"]) for name in ("real", "ours")]
    try:
        for server in servers:
            server.wait_ready()
        real, ours = servers
        assert _saved(real) == _saved(ours)
        _move(real, ours, kind)
        _move(ours, real, kind)
    finally:
        for server in servers:
            server.stop()


def _saved(server: Server) -> tuple[object, object]:
    """Fill slot 0 and save it; returns tokens and bytes."""
    client = Client(server)
    client.complete(PROMPT, 6, id_slot=0, ignore_eos=True)
    answer = client.ask("/slots/0?action=save", {"filename": "own.bin"})
    assert isinstance(answer, dict)
    assert answer["n_saved"] == len(PROMPT) + 5
    assert answer["n_written"] == (server.folder / "own.bin").stat().st_size
    return answer["n_saved"], answer["n_written"]


def _move(one: Server, other: Server, kind: str) -> None:
    """Restore one's file in the other: every token is reused, and the text goes on as it would have."""
    shutil.copy(one.folder / "own.bin", other.folder / "theirs.bin")
    client = Client(other)
    answer = client.ask("/slots/2?action=restore", {"filename": "theirs.bin"})
    assert isinstance(answer, dict)
    assert answer["n_restored"] == len(PROMPT) + 5
    assert answer["n_read"] == (one.folder / "own.bin").stat().st_size
    continued = client.complete([*PROMPT, 500], 8, id_slot=2, ignore_eos=True)
    timings = continued["timings"]
    assert isinstance(timings, dict)
    assert timings["cache_n"] == len(PROMPT)
    if kind == "f32":
        fresh = client.complete([*PROMPT, 500], 8, id_slot=1, ignore_eos=True, cache_prompt=False)
        assert continued["tokens"] == fresh["tokens"]
