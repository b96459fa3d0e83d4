from msgspec.structs import replace
from rich.text import Text

from slotview.engine.observe.observation import Point
from slotview.tui.screens.chart import Colour, draw_chart
from tests.tui.helpers import assert_shows, look, make_app, run
from tests.tui.scenes import WORKING

COLOURS: dict[str, Colour] = {"generating": (1, 200, 1), "prompt": (1, 1, 200), "waiting": 3}


async def test_the_history_fills_the_screen() -> None:
    app, backend = make_app()
    async with run(app, (120, 36)) as pilot:
        await pilot.press("v")
        await assert_shows(pilot, "Nothing to draw yet")
        await pilot.press("escape")
        backend.push(WORKING)
        await look(pilot)
        await pilot.press("v")
        await assert_shows(pilot, "Nothing to draw yet")  # two looks at one moment are no history
        await pilot.press("escape")
        for second in range(1, 20):
            backend.push(replace(WORKING, time=100.0 + second, slots_at=100.0 + second))
            await look(pilot)
        await pilot.press("v")
        await assert_shows(pilot, "busy slots")


def test_unknown_moments_are_gaps_and_not_zero() -> None:
    history = [Point(float(t), busy=2, waiting=None, generation_rate=None if t < 5 else 20.0) for t in range(10)]
    drawn = draw_chart(history, 100, 30, COLOURS.__getitem__)
    lines = Text.from_ansi(drawn).plain.splitlines()
    assert len(lines) <= 30
    assert {len(line) for line in lines} == {100}, "drawn to the size there is"
    dots = [line[10:] for line in lines[1:8]]
    first = min(index for line in dots for index, char in enumerate(line) if "\u2800" < char <= "\u28ff")
    assert first > 40, "nothing is drawn where nothing was known"


def test_on_a_small_screen_the_lowest_line_is_zero_and_nothing_covers_the_drawing() -> None:
    history = [Point(float(t), busy=2, waiting=1, generation_rate=3.0 * t, prompt_rate=2.0) for t in range(10)]
    lines = Text.from_ansi(draw_chart(history, 72, 18, COLOURS.__getitem__)).plain.splitlines()
    marks = [[line.split("┤")[0].strip() for line in lines if "┤" in line][i : i + 2] for i in (0, 2, 4)]
    assert marks == [["27", "0"], ["2", "0"], ["2", "0"]]
    assert not any("│ " in line.strip("│ ") for line in lines), "no legend box"


def test_marks_are_round_numbers_and_names_stand_beside_nothing() -> None:
    history = [Point(1.06 * t, busy=4, waiting=5 * t, generation_rate=0.7 * t) for t in range(60)]
    lines = Text.from_ansi(draw_chart(history, 113, 29, COLOURS.__getitem__)).plain.splitlines()
    assert lines[0].rstrip() == "■ generation tok/s 41.3"
    assert lines[-9].rstrip() == "■ busy slots 4  ■ waiting 295"
    assert lines[-1].split() == ["-60", "s", "-50", "s", "-40", "s", "-30", "s", "-20", "s", "-10", "s", "now"]
    levels = [line.split("┤")[0].strip() for line in lines[-9:] if "┤" in line]
    assert len({line.index("┤") for line in lines if "┤" in line}) == 1, "the plots stand below each other"
    assert levels == ["200", "0"]
    assert {len(line) for line in lines} == {113}
    assert len(lines) == 29


def test_each_line_has_the_colour_of_its_name() -> None:
    history = [Point(float(t), busy=4, waiting=9, generation_rate=1.0) for t in range(60)]
    shown = Text.from_ansi(draw_chart(history, 100, 30, COLOURS.__getitem__)).split()[-10:]
    name, drawing = shown[0], shown[2:-2]
    colours = {span.style for line in drawing for span in line.spans if "\u2800" < line.plain[span.start] <= "\u28ff"}
    assert {span.style for span in name.spans} == colours
    assert len(colours) == 2
