"""What ends ``slotview serve`` before it serves, in one line."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from slotview.engine.flags import parse_flags
from slotview.engine.serve.http_server import make_server
from slotview.engine.serve.server import serve
from slotview.engine.serve.state import ServerState


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--slot-save-path", "{}/none"], "not a directory: "),
        (["--api-key-file", "{}/none"], "error: failed to open file "),
        (["--chat-template", "{{ x"], "error: the supplied chat template is not supported: "),
        (
            ["--chat-template", "{{ messages[0].content.none() }}"],
            "error: the supplied chat template is not supported: ",
        ),
    ],
)
def test_what_cannot_start_says_so_in_a_line(
    words: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert serve(parse_flags([word.replace("{}", str(tmp_path)) for word in words])) == 1
    shown = capsys.readouterr().err
    assert shown.startswith(told)
    assert shown.count("\n") == 1


def test_the_second_signal_ends_the_server_at_once_with_1(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    ends: list[int] = []
    monkeypatch.setattr("os._exit", ends.append)
    server = make_server(ServerState(parse_flags([])))
    server.handle_exit(signal.SIGTERM, None)
    assert server.should_exit
    assert not ends
    server.handle_exit(signal.SIGINT, None)
    assert ends == [1]
    assert capfd.readouterr().err == "Received second interrupt, terminating immediately.\n"
