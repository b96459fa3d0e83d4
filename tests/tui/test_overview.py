import pytest
from msgspec.structs import replace
from textual.events import Key

from slotview.engine.snapshot import KvPool, WaitingView
from slotview.tui.overview import OverviewApp
from slotview.tui.screens.dashboard import Dashboard
from slotview.tui.server_table import ServerTable
from tests.fake_backend import FakeBackend
from tests.tui.helpers import SIZES, text_of
from tests.tui.scenes import GONE, IDLE, REMOTE


@pytest.mark.parametrize("size", SIZES)
async def test_a_row_for_each_server_and_its_screen_on_enter(size: tuple[int, int]) -> None:
    backends = [FakeBackend(REMOTE), FakeBackend(GONE), FakeBackend(IDLE)]
    names = ("gpu[0]", "old box", "here")
    app = OverviewApp(list(zip(names, backends, strict=True)), refresh=3600)
    async with app.run_test(size=size) as pilot:
        assert all(backend.started for backend in backends)
        lines = text_of(app).splitlines()
        row = next(line for line in lines if "gpu[0]" in line)
        assert "4/4" in row
        assert "–" in row, "waiting is not known there, and not 0"
        assert "refused" in next(line for line in lines if "old box" in line)
        await pilot.press("down", "down", "enter")
        await pilot.pause()
        assert isinstance(app.screen, Dashboard)
        assert "Slots: 0 of 4 busy" in text_of(app)
        assert "esc Back" in text_of(app)
        assert "q Quit" not in text_of(app), "q leads back too, and ends nothing"
        await pilot.press("escape")
        await pilot.pause()
        assert "old box" in text_of(app)
        assert "↵ Open" in text_of(app).splitlines()[-1]
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, Dashboard)
        await pilot.press("q")
        await pilot.pause()
        assert "old box" in text_of(app)
        await pilot.press("escape")
        assert app.is_running
        await pilot.press("q")
    assert app.return_code == 0


async def test_the_numbers_of_a_server_that_is_gone_do_not_look_like_those_of_now() -> None:
    app = OverviewApp([("old box", FakeBackend(GONE)), ("here", FakeBackend(REMOTE))], refresh=3600)
    async with app.run_test(size=(120, 36)):
        table = app.screen.query_one(ServerTable)
        styles = [
            next(style for text, style, _ in table.render_line(y) if "4/4" in text and style is not None)
            for y in (1, 2)
        ]
    assert styles[0].color != styles[1].color


async def test_what_is_unknown_or_old_is_one_dash() -> None:
    mute = replace(REMOTE, pool=KvPool(None, 4096, (4096,)), waiting=WaitingView(7, why="20 s older than the slots"))
    app = OverviewApp([("mute", FakeBackend(mute)), ("here", FakeBackend(REMOTE))], refresh=3600)
    async with app.run_test(size=(120, 36)):
        row = next(line for line in text_of(app).splitlines() if "mute" in line)
    assert " 7 " not in row
    assert "– ·" not in row


async def test_it_goes_on_looking_at_all_but_the_open_one() -> None:
    backends = [FakeBackend(REMOTE), FakeBackend(REMOTE)]
    app = OverviewApp([("one", backends[0]), ("two", backends[1])], refresh=3600)
    async with app.run_test(size=(120, 36)) as pilot:
        overview = app.screen
        await pilot.press("enter")
        await pilot.pause()
        for backend in backends:
            backend.push(IDLE)
        overview.look()  # type: ignore[attr-defined]
        dashboard = app.screen
        assert isinstance(dashboard, Dashboard)
        assert dashboard.feed.look.snapshot.busy == 4, "its own screen looks for itself"
        dashboard.look()
        await pilot.pause()
        await pilot.press("q")
        await pilot.pause()
        rows = [line for line in text_of(app).splitlines() if "0/4" in line]
        assert len(rows) == 2


@pytest.mark.parametrize("size", SIZES)
async def test_servers_of_one_host_are_told_apart(size: tuple[int, int]) -> None:
    names = [f"http{secure}://192.168.100.200:{port}" for secure, port in (("", 18080), ("", 18081), ("s", 18082))]
    app = OverviewApp([(name, FakeBackend(IDLE)) for name in names], refresh=3600)
    async with app.run_test(size=size):
        shown = [line.split()[0] for line in text_of(app).splitlines() if "0/4" in line]
        assert [name[-5:] for name in shown] == ["18080", "18081", "18082"]


async def test_a_narrow_screen_shows_how_a_server_is_and_that_its_words_go_on() -> None:
    app = OverviewApp([("old box", FakeBackend(GONE))], refresh=3600)
    async with app.run_test(size=(40, 12)):
        row = next(line for line in text_of(app).splitlines() if "old box" in line)
        assert "● refused" in row
        assert row.rstrip().endswith("…")
        assert "4/4" in row


async def test_enter_held_down_opens_one_screen() -> None:
    app = OverviewApp([("one", FakeBackend(IDLE)), ("two", FakeBackend(REMOTE))], refresh=3600)
    async with app.run_test(size=(80, 24)) as pilot:
        for _ in range(25):
            app.post_message(Key("enter", None))
        await pilot.pause()
        await pilot.press("escape")
        await pilot.pause()
        assert "two" in text_of(app), "the overview again, at once"
        assert len(app.screen_stack) == 1
