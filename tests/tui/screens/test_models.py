from msgspec.structs import replace
from rich.cells import cell_len

from tests.tui.helpers import make_app, run, text_of
from tests.tui.scenes import ROUTER


async def test_a_routers_models_are_listed_and_one_is_chosen() -> None:
    app, backend = make_app(ROUTER)
    async with run(app, (80, 24)) as pilot:
        await pilot.press("m")
        assert "llama-[b]3  unloaded" in text_of(app)
        assert "↵ Choose" in text_of(app).splitlines()[-1]
        await pilot.press("down", "enter")
        await pilot.pause()
        assert ("choose_model", "llama-[b]3") in backend.calls


async def test_there_is_no_such_key_without_a_router() -> None:
    app, _ = make_app()
    async with run(app, (80, 24)) as pilot:
        assert "Model" not in text_of(app).splitlines()[-1]
        await pilot.press("m")
        assert app.screen is app.dashboard


async def test_long_names_keep_both_ends_and_their_states_in_one_column() -> None:
    names = ("a", f"org/{'long-' * 20}Q4_K_M.gguf", "日本語モデル" * 10)
    models = tuple((name, "unloaded") for name in names)
    app, _ = make_app(replace(ROUTER, facts=replace(ROUTER.facts, models=models)))
    async with run(app, (80, 24)) as pilot:
        await pilot.press("m")
        lines = [line for line in text_of(app).splitlines() if "unloaded" in line]
    assert len({cell_len(line[: line.index("unloaded")]) for line in lines}) == 1
    assert ["org/long-" in line and "Q4_K_M.gguf" in line for line in lines] == [False, True, False]
