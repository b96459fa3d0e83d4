import pytest

from slotview.engine.events import LogLine, Notice
from slotview.tui.screens.log import LogScreen
from tests.tui.helpers import SIZES, assert_shows, look, make_app, run, text_of
from tests.tui.scenes import WORKING

LONG = (
    "slot get_availabl: id  3 | task -1 | selected slot by LRU, t_last = 50440540111 and as much again, even the end."
)


@pytest.mark.parametrize("size", SIZES)
async def test_a_line_too_long_for_the_log_is_read_in_full_by_enter(size: tuple[int, int]) -> None:
    app, backend = make_app()
    async with run(app, size) as pilot:
        backend.push(WORKING, LogLine(1.0, "I", LONG))
        await look(pilot)
        await pilot.press("3")
        await assert_shows(pilot, "↵ Read")
        if size[0] < len(LONG):
            assert "end." not in text_of(app)
        await pilot.press("enter")
        await assert_shows(pilot, "end.")
        await pilot.press("escape")
        assert app.screen is app.dashboard


async def test_it_follows_what_happens() -> None:
    app, backend = make_app()
    async with run(app, (80, 24)) as pilot:
        await pilot.press("3", "enter")
        assert isinstance(app.screen, LogScreen)
        await assert_shows(pilot, "nothing has happened yet")
        backend.push(WORKING, Notice(1.0, "the server is on fire", "error"))
        await look(pilot)
        await assert_shows(pilot, "the server is on fire")
