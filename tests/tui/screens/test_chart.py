from dataclasses import replace

from rich.text import Text

from slotview.engine.observe.observation import Point
from slotview.tui.screens.chart import draw_chart
from tests.tui.helpers import assert_shows, look, make_app, run
from tests.tui.scenes import WORKING


async def test_the_history_fills_the_screen() -> None:
    app, backend = make_app()
    async with run(app, (120, 36)) as pilot:
        await pilot.press("v")
        await assert_shows(pilot, "Nothing to draw yet")
        await pilot.press("escape")
        for second in range(1, 20):
            backend.push(replace(WORKING, time=100.0 + second, slots_at=100.0 + second))
            await look(pilot)
        await pilot.press("v")
        await assert_shows(pilot, "busy slots")


def test_unknown_moments_are_gaps_and_not_zero() -> None:
    history = [Point(float(t), busy=2, waiting=None, generation_rate=None if t < 5 else 20.0) for t in range(10)]
    drawn = draw_chart(history, 100, 30)
    lines = Text.from_ansi(drawn).plain.splitlines()
    assert len(lines) <= 30
    assert {len(line) for line in lines} == {100}, "drawn to the size there is"
    dots = [line[10:] for line in lines[1:8]]
    first = min(index for line in dots for index, char in enumerate(line) if "\u2800" < char <= "\u28ff")
    assert first > 40, "nothing is drawn where nothing was known"


def test_on_a_small_screen_the_lowest_line_is_zero_and_nothing_covers_the_drawing() -> None:
    history = [Point(float(t), busy=2, waiting=1, generation_rate=3.0 * t, prompt_rate=2.0) for t in range(10)]
    lines = Text.from_ansi(draw_chart(history, 72, 18)).plain.splitlines()
    lowest = [lines[row - 1].split("┤")[0].strip() for row, line in enumerate(lines) if line.lstrip().startswith("└")]
    assert lowest == ["0", "0", "0"]
    assert not any("│ " in line.strip("│ ") for line in lines), "no legend box"
