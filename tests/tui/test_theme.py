"""What is said in colours can be read in every theme."""

import pytest
from rich.color import Color
from rich.style import Style

from slotview.engine.snapshot import Snapshot
from slotview.tui.theme import THEMES
from slotview.widgets.base.line import TONES, tone_style
from slotview.widgets.slot_table import SlotTable
from tests.tui.helpers import look, make_app
from tests.tui.scenes import GONE, WORKING

OURS = {theme.name for theme in THEMES}
BARS = {tone for tone in TONES if tone.startswith("bar-")}
WORDS = TONES.keys() - BARS - {"track", "faint"} - {tone for tone in TONES if tone.startswith("cursor")}


def luminance(color: Color | None) -> float:
    assert color is not None
    parts = [part / 255 for part in color.get_truecolor()]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(style: Style) -> float:
    """Contrast as WCAG measures it, 1 to 21."""
    low, high = sorted((luminance(style.color), luminance(style.bgcolor)))
    return (high + 0.05) / (low + 0.05)


async def test_words_and_bars_stand_out_in_every_theme_also_on_the_chosen_row() -> None:
    app, _ = make_app()
    faint: list[str] = []
    async with app.run_test() as pilot:
        table = app.screen.query_one(SlotTable)
        for theme in [theme for theme in app.available_themes.values() if not theme.ansi]:
            app.theme = theme.name
            await pilot.pause()
            words, chosen = (4.5, 4.0) if theme.name in OURS else (2.8, 2.1)
            faintest = 2.6 if theme.name in OURS else 1.9
            for cursor, tones, least in (
                ("", WORDS, words),
                ("cursor-focused", WORDS, chosen),
                ("", BARS, 1.6),
                ("", {"faint"}, faintest),
            ):
                seen = {tone: contrast(tone_style(table, tone, cursor)) for tone in tones}
                faint += [f"{theme.name} {cursor} {tone} {value:.1f}" for tone, value in seen.items() if value < least]
    assert not faint


async def test_the_chosen_row_is_marked_without_mixed_colours_where_the_terminal_has_its_own() -> None:
    app, _ = make_app()
    async with app.run_test() as pilot:
        app.theme = "ansi-light"
        await look(pilot)
        table = app.screen.query_one(SlotTable)
        styles = [next(iter(table.line_strip(index))).style for index in (0, 1)]
        assert [style.reverse for style in styles if style] == [True, None]


async def test_bars_and_tabs_are_seen_where_the_terminal_has_its_own_colours() -> None:
    app, _ = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        app.theme = "ansi-dark"
        await pilot.press("1")
        await pilot.pause()
        assert tone_style(app.screen.query_one(SlotTable), "track").underline, "else a bar has no end"
        tabs = next(strip for strip in app.screen._compositor.render_strips() if "2 Findings" in strip.text)
        styles = [segment.style for segment in tabs if segment.style and segment.text.strip()]
        assert len(styles) > 5
        assert all(style.reverse and style.bgcolor and style.bgcolor.is_default for style in styles)


@pytest.mark.parametrize(("key", "sign"), [("f", "[ ]"), ("t", "(○)")])
async def test_an_empty_toggle_is_seen_in_every_theme(key: str, sign: str) -> None:
    app, _ = make_app()
    async with app.run_test() as pilot:
        await pilot.press(key)
        await app.dashboard.query("*").remove()  # else they are drawn again in each theme, below the dialog
        for theme in [theme for theme in app.available_themes.values() if not theme.ansi]:
            app.theme = theme.name
            await pilot.pause()
            segments = [segment for strip in app.screen._compositor.render_strips() for segment in strip]
            signs = [segment.style for segment in segments if segment.text == sign]
            assert signs, theme.name
            assert all(style and contrast(style) > 2.8 for style in signs), theme.name


@pytest.mark.parametrize("theme", sorted(OURS))
@pytest.mark.parametrize("scene", [WORKING, GONE], ids=["frozen", "gone"])
async def test_greyed_numbers_can_still_be_read(theme: str, scene: Snapshot) -> None:
    app, _ = make_app(scene)
    async with app.run_test(size=(120, 36)) as pilot:
        app.theme = theme
        await look(pilot)
        if scene is WORKING:
            await pilot.press("space")
        segments = [segment for strip in app.screen._compositor.render_strips() for segment in strip]
        words = [segment for segment in segments if segment.style and segment.text.strip().isalnum()]
        faint = {segment.text: contrast(segment.style) for segment in words if segment.style}
        assert min(faint.values()) > 2.8, {text: value for text, value in faint.items() if value <= 2.8}
