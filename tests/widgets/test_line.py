import pytest
from rich.cells import cell_len
from rich.style import Style
from textual.app import App
from textual.color import Color

from slotview.widgets.base.line import (
    TONES,
    Line,
    break_text,
    cut,
    cut_middle,
    fit,
    flow,
    join,
    line_width,
    pad,
    to_strip,
    tone_style,
    wrap,
)
from slotview.widgets.base.line_scroll import LineScroll
from slotview.widgets.base.panel import LinePanel

TEXTS = ["", "short", "a rather long text of several words", "日本語のテキスト", "mixed 日本 and ascii", "x" * 50]


def text_of(line: Line) -> str:
    return "".join(text for text, _ in line)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("width", [1, 2, 5, 12, 80])
def test_padded_text_has_exactly_the_width(text: str, width: int) -> None:
    assert cell_len(pad(text, width)) == cell_len(pad(text, width, right=True)) == width


def test_cutting_shows_that_something_is_missing() -> None:
    assert cut("a long name", 6) == "a lon…"
    assert cut("日本語", 4) == "日…"  # half a wide character is none
    assert cut("abc", 3) == "abc"
    assert cut("abc", 0) == ""


def test_cutting_in_the_middle_keeps_the_end() -> None:
    assert cut_middle("Once upon a time Hugo", 14) == "Once u…me Hugo"
    assert cut_middle("日本語日本語", 7) == "日…本語"
    assert cut_middle("abc", 3) == "abc"


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("width", [0, 1, 2, 5, 12, 80])
def test_a_text_cut_in_the_middle_is_no_wider_than_its_room(text: str, width: int) -> None:
    assert cell_len(cut_middle(text, width)) <= width


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("width", [2, 7, 20])
def test_wrapped_text_fits_and_loses_nothing(text: str, width: int) -> None:
    rows = break_text(text, width)
    assert "".join(rows) == text
    assert all(cell_len(row) <= width for row in wrap(text, width))


def test_words_stay_whole_where_they_can() -> None:
    assert wrap("one two three", 8) == ["one two", "three"]


def test_what_is_left_out_of_a_text_is_told_by_its_last_line() -> None:
    assert wrap("one two three four", 8, 1) == ["one two…"]
    assert wrap("one two three four", 9, 2) == ["one two", "three…"]
    assert wrap("one two three", 8, 2) == ["one two", "three"]
    assert wrap("one two three", 8, 0) == []


def test_a_number_in_groups_is_not_broken() -> None:
    assert wrap("holds 8 192 cells", 7) == ["holds", "8 192", "cells"]
    assert wrap("of (1 048 576/2 097 152)", 21) == ["of", "(1 048 576/2 097 152)"]
    assert wrap("12 34567 1 2", 5) == ["12", "34567", "1 2"]


def test_flow_puts_what_does_not_fit_on_a_new_line() -> None:
    parts: list[Line] = [(("aaaa", ""),), (("bbbb", "dim"),), (("cccc", ""),)]
    assert [text_of(line) for line in flow(parts, 12)] == ["aaaa · bbbb", "cccc"]
    assert text_of(join(parts)) == "aaaa · bbbb · cccc"
    assert flow([], 12) == []


def test_a_fitted_line_keeps_its_tones_up_to_the_cut() -> None:
    line: Line = (("slot ", "dim"), ("chosen for a task", "strong"), ("more", ""))
    assert fit(line, 80) is line
    cut_line = fit(line, 12)
    assert text_of(cut_line) == "slot chosen…"
    assert cut_line[1][1] == "strong"
    assert line_width(fit(line, 5)) <= 5


def test_a_strip_has_the_widgets_width() -> None:
    strip = to_strip((("日本", ""), ("x", "dim")), 9, lambda tone: Style(dim=tone == "dim"))
    assert strip.cell_length == 9
    assert strip.text == "日本x    "


@pytest.mark.parametrize("width", [0, -3])
def test_a_window_without_width_breaks_no_text(width: int) -> None:
    assert [row for row in wrap("ab c", width) if row] == ["a", "b", "c"]


@pytest.mark.parametrize("tone", sorted(TONES))
async def test_tones_are_of_the_theme_that_is_worn(tone: str) -> None:
    app: App[None] = App()
    async with app.run_test() as pilot:
        dark = tone_style(app.screen, tone)
        app.theme = "solarized-light"
        await pilot.pause()
        light = tone_style(app.screen, tone)
    assert dark != light
    assert all(style.color and style.bgcolor for style in (dark, light))


async def test_a_faint_tone_lets_the_ground_through() -> None:
    app: App[None] = App()
    async with app.run_test():
        ground = app.screen.styles.background
        color = tone_style(app.screen, "track").bgcolor
        assert color is not None
        assert Color.from_rich_color(color) == ground + Color.parse(app.theme_variables["foreground"]).with_alpha(0.1)


def test_no_tone_is_a_component_class() -> None:
    """Textual would style each of them again, on each widget, whenever a class of the widget changes."""
    assert not LinePanel.COMPONENT_CLASSES | LineScroll.COMPONENT_CLASSES
