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
