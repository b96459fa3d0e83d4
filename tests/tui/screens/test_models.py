from tests.tui.helpers import make_app, run, text_of
from tests.tui.scenes import ROUTER


async def test_a_routers_models_are_listed_and_one_is_chosen() -> None:
    app, backend = make_app(ROUTER)
    async with run(app, (80, 24)) as pilot:
        await pilot.press("m")
        assert "llama-[b]3  unloaded" in text_of(app)
        await pilot.press("down", "enter")
        await pilot.pause()
        assert ("choose_model", "llama-[b]3") in backend.calls


async def test_there_is_no_such_key_without_a_router() -> None:
    app, _ = make_app()
    async with run(app, (80, 24)) as pilot:
        assert "Model" not in text_of(app).splitlines()[-1]
        await pilot.press("m")
        assert app.screen is app.dashboard
