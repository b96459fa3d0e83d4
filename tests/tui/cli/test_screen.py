import pytest

from slotview.tui.cli.screen import ScreenOptions, chosen_theme, run_app
from slotview.widgets.base.line import tone_style
from slotview.widgets.slot_table import SlotTable
from tests.tui.helpers import make_app


def test_a_copied_command_is_printed_when_the_terminal_is_back(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    app, backend = make_app()
    monkeypatch.setenv("TEXTUAL_DRIVER", "none is needed")
    monkeypatch.setattr(app, "run", lambda: setattr(app, "copied_command", "llama-server -np 2"))
    run_app(app, backend)
    assert capsys.readouterr().out == "llama-server -np 2\n"


@pytest.mark.parametrize(
    ("term", "colours", "theme"),
    [
        ("xterm", "", "ansi-dark"),
        ("screen", "", "ansi-dark"),
        ("xterm", "truecolor", None),
        ("xterm-256color", "", None),
        ("screen-256color", "", None),
    ],
)
def test_sixteen_colours_are_the_terminals_own(
    monkeypatch: pytest.MonkeyPatch, term: str, colours: str, theme: str | None
) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("COLORTERM", colours)
    assert chosen_theme(ScreenOptions(), None) == theme
    assert chosen_theme(ScreenOptions(theme="nord"), None) == "nord"


async def test_generating_and_prompt_look_different_in_sixteen_colours() -> None:
    app, _ = make_app()
    app.theme = "ansi-dark"
    async with app.run_test() as pilot:
        await pilot.pause()
        table = app.screen.query_one(SlotTable)
        colours = {tone: tone_style(table, tone).color for tone in ("generating", "prompt", "waiting", "error", "")}
        assert len({str(colour) for colour in colours.values()}) == len(colours)
