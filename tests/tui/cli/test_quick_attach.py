"""The short way to ``attach`` and Typer's read the same."""

from __future__ import annotations

import pytest

from slotview.tui.cli import attach, commands
from slotview.tui.cli.attach import AttachOptions
from slotview.tui.cli.quick_attach import read_attach
from slotview.tui.cli.screen import ScreenOptions

USUAL = (
    "localhost:8080",
    "a b c",
    "",
    "a --interval 2 --no-backoff",
    "--metrics-every 0 a --refresh .5",
    "a --backoff --no-backoff --theme nord",
    "a --model one --model two.gguf --api-key secret",
    "a --interval 1 --interval 3",
)
UNUSUAL = (
    "a --once",
    "a --json",
    "--help",
    "a --record x",
    "a --interval",
    "a --interval soon",
    "a --interval=2",
    "-- a",
    "a --frob x",
)


@pytest.mark.parametrize("line", USUAL)
def test_both_ways_read_the_same(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMA_API_KEY", "k")
    called: list[object] = []

    def record(urls: list[str], options: AttachOptions, screen: ScreenOptions) -> None:
        called.append((urls, options, screen))

    monkeypatch.setattr(attach, "start_attach", record)
    with pytest.raises(SystemExit):
        commands.run_command(["attach", *line.split()])
    assert read_attach(line.split()) == called[0]


@pytest.mark.parametrize("line", UNUSUAL)
def test_what_is_not_usual_is_left_to_typer(line: str) -> None:
    assert read_attach(line.split()) is None
