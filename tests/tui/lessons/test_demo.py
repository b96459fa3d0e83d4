import asyncio

from msgspec.structs import replace

from slotview.engine.backend import FireRequest, RetuneReport
from slotview.engine.context import LaunchFlags
from slotview.engine.snapshot import WaitingView
from slotview.tui.lessons.demo import SCRIPT, DemoApp, Step
from tests.fake_backend import FakeBackend
from tests.tui.helpers import assert_shows, text_of
from tests.tui.scenes import WORKING


def test_the_script_is_a_minute_that_tells_deferral_two_slots_and_unified() -> None:
    assert 45 <= sum(step.seconds for step in SCRIPT) <= 75
    assert all(step.caption for step in SCRIPT)
    assert [step.picture for step in SCRIPT if step.picture] == ["four-slots", "retune-two-slots", "unified"]
    flags = [step.retune for step in SCRIPT if step.retune]
    assert [(flag.parallel, flag.kv_unified) for flag in flags] == [(4, False), (2, False), (4, True)]
    assert sum(request.count for request in SCRIPT[1].fire) == 8


async def test_steps_follow_each_other_at_the_key() -> None:
    backend = FakeBackend(WORKING)
    taken: list[str] = []
    script = (
        Step("first words", 3600, picture="one"),
        Step("second words", 3600, LaunchFlags(ctx_size=8192, parallel=2), (FireRequest("hello", count=2),), "two"),
    )
    app = DemoApp(backend, script=script, refresh=3600, picture=taken.append)
    async with app.run_test(size=(120, 36), notifications=True) as pilot:
        await assert_shows(pilot, "1/2 first words")
        await pilot.press("n")
        await pilot.pause()
        assert backend.calls == [("retune", LaunchFlags(ctx_size=8192, parallel=2))]
        assert taken == ["one"]
        backend.futures[-1].set_result(RetuneReport("two slots"))
        await assert_shows(pilot, "2/2 second words")
        await assert_shows(pilot, "two slots")
        assert backend.calls[-1][0] == "submit"
        await pilot.press("n")
        await asyncio.wait_for(app.played.wait(), 5)
        assert taken == ["one", "two"]


async def test_the_last_caption_stays_until_the_key_hides_it() -> None:
    app = DemoApp(FakeBackend(WORKING), script=(Step("now you", 0.01),), refresh=3600)
    async with app.run_test(size=(80, 24)) as pilot:
        await asyncio.wait_for(app.played.wait(), 5)
        await assert_shows(pilot, "1/1 now you (n: hide)")
        await pilot.press("n")
        await pilot.pause()
        assert "now you" not in text_of(app)


async def test_it_waits_for_the_model() -> None:
    from slotview.engine.snapshot import EMPTY

    backend = FakeBackend(EMPTY)
    app = DemoApp(backend, script=(Step("now it works", 0.01),), refresh=0.05)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert not app.played.is_set()
        backend.push(WORKING)
        await asyncio.wait_for(app.played.wait(), 5)
        await assert_shows(pilot, "1/1 now it works")


async def test_the_numbers_of_a_caption_are_those_of_the_panels() -> None:
    backend = FakeBackend(WORKING)
    app = DemoApp(backend, script=(Step("{busy} at work, {waiting} waiting", 3600),), refresh=3600)
    async with app.run_test(size=(120, 36)) as pilot:
        await assert_shows(pilot, f"1/1 {WORKING.busy} at work, {WORKING.waiting.count} waiting")
        backend.push(replace(WORKING, serial=WORKING.serial + 1, waiting=WaitingView(17)))
        app.dashboard.look()
        await assert_shows(pilot, f"1/1 {WORKING.busy} at work, 17 waiting")
        await assert_shows(pilot, "17 wait")


async def test_a_caption_counts_those_that_the_engine_has_not_seen_yet() -> None:
    backend = FakeBackend(replace(WORKING, waiting=WaitingView(0, ())))
    app = DemoApp(backend, script=(Step("{waiting} waiting", 3600, fire=(FireRequest("hello", count=8),)),))
    async with app.run_test(size=(120, 36)) as pilot:
        await assert_shows(pilot, "1/1 8 waiting")
        await assert_shows(pilot, "0 wait · 8 new, seen after this step")


async def test_a_script_that_is_played_for_its_pictures_offers_no_key_of_the_demo() -> None:
    for caption, offered in (("watch", True), ("", False)):
        app = DemoApp(FakeBackend(WORKING), script=(Step(caption, 3600),), refresh=3600)
        async with app.run_test(size=(120, 36)) as pilot:
            await assert_shows(pilot, "q Quit")
            assert ("Next step" in text_of(app)) is offered
