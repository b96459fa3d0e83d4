from textual.color import Color

from tests.tui.helpers import make_app, text_of


async def test_digits_are_coloured_as_keys_and_the_open_tab_stands_out() -> None:
    app, _ = make_app()
    async with app.run_test(size=(80, 24)):
        row = next(number for number, line in enumerate(text_of(app).splitlines()) if "3 Log" in line)
        segments = list(app.screen._compositor.render_strips()[row])
        colours = {text.strip(): style.color for text, style, _ in segments if style and text.strip()}
        assert colours["1"] == colours["3"] == Color.parse(app.theme_variables["footer-key-foreground"]).rich_color
        assert colours["Requests"] != colours["Log"] != colours["3"]


async def test_the_tabs_are_the_title_of_the_open_pane_and_show_that_it_has_the_focus() -> None:
    app, _ = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        strip = app.screen.query_one("#tabs")
        grounds = [strip.background_colors[1]]
        for key in ("2", "0"):
            await pilot.press(key)
            await pilot.pause()
            grounds.append(strip.background_colors[1])
        assert grounds[1] not in (grounds[0], grounds[2])
        assert text_of(app).count("Findings") == 1
