import pytest

from slotview.tui.cli.screen import run_app
from tests.tui.helpers import make_app


def test_a_copied_command_is_printed_when_the_terminal_is_back(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    app, backend = make_app()
    monkeypatch.setenv("TEXTUAL_DRIVER", "none is needed")
    monkeypatch.setattr(app, "run", lambda: setattr(app, "copied_command", "llama-server -np 2"))
    run_app(app, backend)
    assert capsys.readouterr().out == "llama-server -np 2\n"
