import pytest
from msgspec.structs import replace

from slotview.engine.backend import RequestState, RequestView
from slotview.widgets.request_list import RequestList
from tests.widgets.host import Host, hosting, screen_text
from tests.widgets.looks import NOW, look, snapshot

DONE = RequestView(1, RequestState.DONE, "a story", 90, 12, 0, 0.0, 0.52, 24, 0, 64, 16.3, 4.4, "limit", False, 200)
RUNNING = RequestView(2, RequestState.GENERATING, "What is a slot?", 91, 13, 1, 0.1, 0.62, 24, 0, 31, 12.3)
FAILED = RequestView(
    3, RequestState.FAILED, "long", 92, 14, finish="request (9000 tokens) exceeds the context", status=400
)
WAITS = RequestView(4, RequestState.WAITING, "日本語 [bold red]x[/] \x1b[2J", NOW - 3.2, 15)
ALL = (DONE, RUNNING, FAILED, WAITS)


async def test_the_newest_stands_at_the_top_with_all_that_is_known() -> None:
    requests = RequestList()
    async with hosting(requests, size=(120, 24)) as pilot:
        requests.show(look(requests=ALL))
        await pilot.pause()
        head, waits, failed, running, done = requests.text.splitlines()
        assert head.split()[:9] == ["#", "state", "slot", "waited", "1st", "token", "decoded", "tok/s", "prompt/end"]
        assert waits.split()[:9] == ["4", "◌", "waiting", "–", "3.2", "s", "–", "–", "–"]
        assert "✗ failed" in failed
        assert "exceeds the context" in failed
        assert running.split() == [
            "2",
            "●",
            "generating",
            "1",
            "0.1",
            "s",
            "0.6",
            "s",
            "31",
            "12.3",
            *RUNNING.prompt.split(),
        ]
        assert done.split() == ["1", "✓", "done", "0", "0.0", "s", "0.5", "s", "64", "16.3", "limit"]
        assert "Requests: 2 of 4 open" in screen_text(pilot)


async def test_a_cancelled_request_is_still_known_by_its_prompt() -> None:
    requests = RequestList()
    given_up = replace(RUNNING, state=RequestState.CANCELLED, finish="the request was cancelled")
    async with hosting(requests, size=(80, 24)) as pilot:
        requests.show(look(requests=[given_up]))
        await pilot.pause()
        assert "– cancelled" in requests.text
        assert RUNNING.prompt in requests.text


async def test_one_that_lost_its_slot_adds_to_its_wait_and_has_no_speed_meanwhile() -> None:
    requests = RequestList()
    again = replace(RUNNING, state=RequestState.WAITING, slot=None, queue_wait=2.0, waits_since=NOW - 5)
    async with hosting(requests, size=(120, 24)) as pilot:
        requests.show(look(requests=[again]))
        await pilot.pause()
        row = requests.text.splitlines()[1]
        assert row.split()[:9] == ["2", "◌", "waiting", "–", "7.0", "s", "0.6", "s", "31"]
        assert row.split()[9] == "–"


async def test_waiting_times_go_on() -> None:
    requests = RequestList()
    async with hosting(requests) as pilot:
        requests.show(look(requests=ALL))
        requests.show(look(snapshot(time=NOW + 10), requests=ALL))
        await pilot.pause()
        assert "13 s" in screen_text(pilot)


async def test_prompts_that_begin_alike_are_told_apart_in_little_room() -> None:
    requests = RequestList()
    names = ("Anna", "Benjamin")
    same = tuple(replace(RUNNING, number=i, prompt=f"Once upon a time {name} ") for i, name in enumerate(names))
    async with hosting(requests, size=(76, 24)) as pilot:
        requests.show(look(requests=same))
        await pilot.pause()
        assert all(f"{name}\n" in requests.text + "\n" for name in names)


async def test_prompts_are_inert() -> None:
    requests = RequestList()
    async with hosting(requests, size=(120, 24)) as pilot:
        requests.show(look(requests=ALL))
        await pilot.pause()
        assert "日本語 [bold red]x[/] ␛[2J" in requests.text


@pytest.mark.parametrize("width", [40, 60, 80, 200])
async def test_state_and_number_stay_at_any_width(width: int) -> None:
    requests = RequestList()
    async with hosting(requests, size=(width, 24)) as pilot:
        requests.show(look(requests=ALL))
        await pilot.pause()
        assert "4 ◌ waiting" in " ".join(requests.text.split())


async def test_only_a_request_that_is_not_over_can_be_cancelled_and_the_keys_tell_at_once() -> None:
    requests = RequestList()
    async with hosting(requests) as pilot:
        offers: list[bool] = []

        def note(_: object) -> None:
            offers.append(pilot.app.screen.active_bindings["x"].enabled)

        note(None)
        pilot.app.screen.bindings_updated_signal.subscribe(requests, note)
        requests.show(look(requests=ALL))
        await pilot.pause()
        await pilot.press("down", "down")  # from one that waits to one that failed, then to one that runs
        requests.show(look(requests=(DONE, replace(RUNNING, state=RequestState.DONE))))
        await pilot.pause()
        assert offers == [False, True, False, True, False]
        await pilot.press("x")
        host = pilot.app
        assert isinstance(host, Host)
        assert host.seen(RequestList.CancelRequested) == []
        assert requests.why_not("cancel") == "request 2 has ended already"


async def test_keys_ask_for_text_and_cancels() -> None:
    requests = RequestList()
    async with hosting(requests) as pilot:
        await pilot.press("enter")  # nothing to open yet
        requests.show(look(requests=ALL))
        await pilot.press("down", "enter", "down", "x", "X")
        await pilot.pause()
        host = pilot.app
        assert isinstance(host, Host)
        assert [message.number for message in host.seen(RequestList.Opened)] == [3]
        assert [message.number for message in host.seen(RequestList.CancelRequested)] == [2]
        assert len(host.seen(RequestList.CancelAllRequested)) == 1


async def test_the_choice_stays_when_new_requests_come() -> None:
    requests = RequestList()
    async with hosting(requests) as pilot:
        requests.show(look(requests=ALL[:2]))
        await pilot.press("down")
        requests.show(look(requests=(*ALL, replace(WAITS, number=5))))
        assert requests.chosen == DONE


async def test_none_yet_says_what_to_press() -> None:
    requests = RequestList()
    async with hosting(requests) as pilot:
        requests.show(look())
        await pilot.pause()
        assert "press f to fire" in screen_text(pilot)
