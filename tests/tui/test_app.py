import os
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from textual.widgets import Static

from slotview.tui.app import SlotviewApp
from slotview.tui.crash import crash_report
from slotview.tui.theme import THEMES
from tests.fake_backend import FakeBackend
from tests.tui.helpers import assert_shows, make_app, run
from tests.tui.scenes import WORKING


@pytest.mark.parametrize("theme", [*(theme.name for theme in THEMES), "nord"])
async def test_every_theme_can_be_worn(theme: str) -> None:
    app = SlotviewApp(FakeBackend(WORKING), refresh=3600, theme=theme)
    async with run(app, (80, 24)) as pilot:
        assert app.theme == theme
        await assert_shows(pilot, "4 of 4 busy")


def test_an_unknown_theme_falls_back_to_ours() -> None:
    assert SlotviewApp(FakeBackend(WORKING), theme="no such").theme == "slotview-dark"


async def test_start_is_called_once_the_first_frame_is_drawn() -> None:
    seen: list[str] = []
    app = SlotviewApp(
        FakeBackend(WORKING),
        refresh=3600,
        start=lambda app: seen.append(str(app.screen.query_one("#slots").size.width)),
    )
    async with run(app, (80, 24)) as pilot:
        await pilot.pause()
    assert seen == ["78"]


async def test_a_warning_of_another_thread_is_shown() -> None:
    app, _ = make_app()
    async with run(app, (80, 24)) as pilot:
        thread = threading.Thread(target=app.warn, args=("the recording stopped: [no] room",))
        thread.start()
        await assert_shows(pilot, "the recording stopped: [no] room")
        thread.join()


async def test_q_quits() -> None:
    app, _ = make_app()
    async with run(app, (80, 24)) as pilot:
        await pilot.press("q")
    assert app.return_code == 0


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGINT", 130), ("SIGHUP", 129)])
async def test_signals_that_ask_to_quit_are_told_by_the_code(name: str, code: int) -> None:
    number = signal.Signals[name]
    before = signal.signal(number, lambda number, frame: None)  # without ours the tests go on
    try:
        app, _ = make_app()
        async with run(app, (80, 24)) as pilot:
            signal.raise_signal(number)
            await pilot.pause()
    finally:
        signal.signal(number, before)
    assert app.return_code == code


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminal of this kind")
def test_a_byte_that_is_no_text_leaves_the_app_running() -> None:
    """Type one on a terminal, then q."""
    import pty

    code = "from tests.tui.helpers import make_app; app, _ = make_app(); app.run(); raise SystemExit(app.return_code)"
    ours, theirs = pty.openpty()
    with open(ours, "r+b", buffering=0) as screen, open(theirs, "r+b", buffering=0) as terminal:
        child = subprocess.Popen([sys.executable, "-c", code], stdin=terminal, stdout=terminal, stderr=terminal)
        seen = b""
        while b"busy" not in seen:
            seen += screen.read(4096)
        screen.write(b"\xff")
        screen.write(b"q")
        while child.poll() is None:
            seen += screen.read(4096) if select.select([screen], [], [], 0.1)[0] else b""
    assert b"UnicodeDecodeError" not in seen
    assert child.returncode == 0


async def test_what_fails_in_a_thread_is_no_success() -> None:
    app, _ = make_app()
    async with run(app, (80, 24)):
        app.panic("broken")
    assert app.return_code == 1


async def test_the_palette_offers_every_action_and_runs_it() -> None:
    app, _ = make_app()
    async with run(app, (80, 24)) as pilot:
        await pilot.press("ctrl+p")
        await pilot.press(*"freeze")
        await assert_shows(pilot, "Hold the display")
        await pilot.press("enter")
        await assert_shows(pilot, "FROZEN")


async def test_the_palette_quits_in_one_way() -> None:
    app, _ = make_app()
    async with run(app, (80, 24)):
        titles = [command.title for command in app.get_system_commands(app.screen)]
    assert [title for title in titles if title.startswith("Quit")] == ["Quit (q)"]


async def test_the_palette_offers_nothing_that_takes_the_screen_apart() -> None:
    app, _ = make_app()
    async with run(app, (80, 24)):
        titles = {command.title for command in app.get_system_commands(app.screen)}
    assert {"Theme", "Screenshot", "Freeze (space)", "Faster (+)"} <= titles
    assert not any(title.startswith(("Up", "Page", "Look now")) for title in titles), "nothing to ask of this engine"
    assert not {"Maximize", "Minimize", "Keys"} & titles


async def test_a_screenshot_is_saved_where_slotview_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    app, _ = make_app()
    async with run(app, (80, 24)) as pilot:
        app.deliver_screenshot()
        await assert_shows(pilot, "Saved screenshot")
    (saved,) = tmp_path.glob("*.svg")
    assert "Slots" in saved.read_text()


class Broken(Static):
    def render(self) -> str:
        secret = "sk-local-value"
        raise RuntimeError(f"[bold]broken[/bold] widget {len(secret)}")


async def break_screen(app: SlotviewApp) -> None:
    async with run(app, (80, 24)) as pilot:
        await app.dashboard.mount(Broken())
        await pilot.pause()


async def test_a_crash_names_the_error_and_shows_no_local_values() -> None:
    app, _ = make_app()
    with pytest.raises(RuntimeError, match="broken"):
        await break_screen(app)
    report = crash_report(app._exception).plain
    assert (
        report.splitlines()[-1] == "slotview stopped because of an error: RuntimeError: [bold]broken[/bold] widget 14"
    )
    assert "in render" in report
    assert "sk-local" not in report.replace('secret = "sk-local-value"', "")
    assert app.return_code == 1


def test_the_first_frame_of_attach_has_loaded_only_what_it_shows() -> None:
    code = """
import functools, gc, sys
from slotview.tui import app, cli
heavy = {"numpy", "pydantic", "typer", "plotext", "textual.widgets._text_area", "slotview.tui.screens.fire"}
def drawn(screen):
    print(sorted(heavy & set(sys.modules)), file=sys.__stdout__, flush=True)
    screen.call_after_refresh(collecting, screen)
def collecting(screen):
    print(gc.isenabled(), file=sys.__stdout__, flush=True)
    screen.exit()
app.SlotviewApp = functools.partial(app.SlotviewApp, start=drawn)
sys.argv = ["slotview", "attach", "127.0.0.1:1"]
cli.main()
"""
    headless = {"TEXTUAL_DRIVER": "textual.drivers.headless_driver:HeadlessDriver", "COLUMNS": "120", "LINES": "36"}
    environ = {**os.environ, **headless}
    done = subprocess.run([sys.executable, "-c", code], check=False, env=environ, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["[]", "True"], done.stderr
