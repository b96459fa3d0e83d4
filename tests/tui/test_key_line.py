import pytest
from textual.color import Color
from textual.pilot import Pilot

from slotview.engine.backend import RetuneMode
from slotview.tui.key_line import KeyLine
from slotview.tui.screens.fire import FireScreen
from tests.tui.helpers import make_app, run, text_of


def place_of(pilot: Pilot[None], words: str) -> tuple[int, int]:
    return text_of(pilot.app).splitlines()[-1].index(words) + 1, 0


async def test_a_click_presses_the_key() -> None:
    app, _ = make_app()
    async with run(app, (80, 24)) as pilot:
        await pilot.pause()
        await pilot.click(KeyLine, offset=place_of(pilot, "Fire"))
        await pilot.pause()
        assert isinstance(app.screen, FireScreen)
        assert text_of(app).splitlines()[-1].split() == ["esc", "Back", "^s", "Send"]


async def test_a_click_on_a_dim_key_does_nothing() -> None:
    app, _ = make_app(retune=RetuneMode.NONE)
    async with run(app, (80, 24)) as pilot:
        await pilot.pause()
        await pilot.click(KeyLine, offset=place_of(pilot, "Retune"))
        await pilot.pause()
        assert app.screen is app.dashboard


async def test_the_key_below_the_mouse_lights_up_and_is_explained() -> None:
    app, _ = make_app()
    async with run(app, (80, 24)) as pilot:
        await pilot.pause()
        line = app.screen.query_one(KeyLine)
        plain = line.render().spans
        await pilot.hover(KeyLine, offset=place_of(pilot, "Fire"))
        tooltips = [line.tooltip]
        assert line.render().spans != plain
        await pilot.hover("#header")
        tooltips.append(line.tooltip)
        assert line.render().spans == plain
    assert tooltips == ["Send one prompt, or up to 256 at once", None]


@pytest.mark.parametrize("width", range(30, 90, 7))
async def test_no_key_is_cut_in_a_word(width: int) -> None:
    app, _ = make_app()
    async with run(app, (width, 24)) as pilot:
        await pilot.press("1")
        await pilot.pause()
        words = text_of(app).splitlines()[-1].partition("▏")[0].split()
    assert {"↵", "Open"} <= set(words)
    assert set(words) <= {
        "↵",
        "Open",
        "x",
        "Cancel",
        "f",
        "Fire",
        "t",
        "Retune",
        "space",
        "Freeze",
        "?",
        "Help",
        "q",
        "Quit",
    }


@pytest.mark.parametrize("width", range(20, 80, 7))
async def test_no_key_of_a_dialog_is_cut_in_a_word(width: int) -> None:
    app, _ = make_app()
    async with run(app, (width, 24)) as pilot:
        await pilot.press("t")
        await pilot.pause()
        words = text_of(app).splitlines()[-1].split()
    assert set(words) <= {"esc", "Back", "^s", "Apply", "c", "Copy", "command", "u", "Split/unified"}
    assert words[-1] in ("Back", "Apply", "command", "Split/unified")


async def test_eighty_columns_have_room_for_all_keys_also_in_the_requests() -> None:
    app, _ = make_app()
    async with run(app, (80, 24)) as pilot:
        await pilot.press("1")
        await pilot.pause()
        assert "q Quit" in text_of(app).splitlines()[-1]


@pytest.mark.parametrize("width", [20, 40, 80])
async def test_the_palette_keeps_its_place_however_narrow(width: int) -> None:
    app, _ = make_app()
    async with run(app, (width, 24)) as pilot:
        await pilot.pause()
        assert text_of(app).splitlines()[-1].endswith("▏^p palette")


async def test_a_dim_key_is_dim() -> None:
    app, _ = make_app(retune=RetuneMode.NONE)
    async with run(app, (80, 24)) as pilot:
        await pilot.pause()
        strip = app.screen._compositor.render_strips()[-1]
        looks = {text.strip(): style for text, style, _ in strip if style}
        assert Color.from_rich_color(looks["Retune"].color) != Color.from_rich_color(looks["Fire"].color)
