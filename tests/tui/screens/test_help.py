import pytest

from slotview.tui.screens.dashboard import Dashboard
from slotview.tui.screens.help import NUMBERS, key_rows
from tests.tui.helpers import assert_shows, make_app, run, text_of


async def test_help_explains_every_key_and_every_number() -> None:
    app, _ = make_app()
    async with run(app, (80, 24)) as pilot:
        rows = dict(key_rows(app.dashboard))
        assert "Send one prompt" in rows["f"]
        assert "+ =" in rows
        await pilot.press("question_mark")
        seen = text_of(app)
        for _ in range(12):
            await pilot.press("pagedown")
            seen += text_of(app)
        for key in rows:
            assert key in seen
        for name, _ in NUMBERS:
            assert name in seen


@pytest.mark.parametrize("key", ["question_mark", "q", "escape"])
async def test_it_is_left_by_the_key_that_opened_it_too(key: str) -> None:
    app, _ = make_app()
    async with run(app, (80, 24)) as pilot:
        await pilot.press("question_mark", key)
        assert app.screen is app.dashboard
        assert app.is_running


async def test_names_stand_alone_in_their_column() -> None:
    app, _ = make_app()
    async with run(app, (60, 24)) as pilot:
        await pilot.press("question_mark")
        await assert_shows(pilot, "Slower: Poll or refresh less often")
        lines = [line.partition("│")[2] for line in text_of(app).splitlines()]
        first = next(number for number, line in enumerate(lines) if "Send one prompt" in line)
        assert lines[first].startswith(" f  ")
        assert lines[first + 1].startswith(" " * 17 + "at once")


def test_every_key_of_the_dashboard_has_an_id_and_a_tooltip() -> None:
    bindings = [binding for binding in Dashboard.BINDINGS if not isinstance(binding, tuple)]
    assert len(bindings) > 10
    assert all(binding.tooltip and binding.id for binding in bindings)
    ids = [binding.id for binding in bindings]
    assert len(set(ids)) == len(ids)
