from slotview.tui.screens.dashboard import Dashboard
from slotview.tui.screens.help import NUMBERS, key_rows
from tests.tui.helpers import make_app, run, text_of


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


def test_every_key_of_the_dashboard_has_an_id_and_a_tooltip() -> None:
    bindings = [binding for binding in Dashboard.BINDINGS if not isinstance(binding, tuple)]
    assert len(bindings) > 10
    assert all(binding.tooltip and binding.id for binding in bindings)
    ids = [binding.id for binding in bindings]
    assert len(set(ids)) == len(ids)
