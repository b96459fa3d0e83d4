import pytest
from msgspec.structs import replace

from slotview.engine.backend import BackendError, FireRequest, RequestState
from slotview.engine.events import EventRing, LogLine, Notice
from slotview.tui.feed import Feed
from tests.fake_backend import FakeBackend
from tests.tui.scenes import IDLE, WORKING


def make_feed() -> tuple[Feed, FakeBackend]:
    backend = FakeBackend(WORKING)
    feed = Feed(backend)
    assert feed.poll()
    feed.take()
    return feed, backend


def test_nothing_new_is_nothing_to_show() -> None:
    feed, backend = make_feed()
    assert not feed.poll()
    backend.push(IDLE)
    assert feed.poll()
    assert feed.take().snapshot.busy == 0
    assert not feed.poll()


def test_ages_are_brought_up_to_date_once_a_second() -> None:
    feed, backend = make_feed()
    backend.snapshot = replace(backend.snapshot, time=100.4)
    assert not feed.poll()
    backend.snapshot = replace(backend.snapshot, time=101.2)
    assert feed.poll()
    assert feed.take().snapshot.age == pytest.approx(1.2)


def test_a_server_without_an_age_is_shown_anew_once_a_second() -> None:
    backend = FakeBackend(replace(WORKING, time=100.0, slots_at=None))
    feed = Feed(backend)
    assert feed.poll()
    feed.take()
    backend.snapshot = replace(backend.snapshot, time=100.9)
    assert not feed.poll()
    backend.snapshot = replace(backend.snapshot, time=101.0)
    assert feed.poll(), "how long it has not answered is shown too"


def test_each_event_is_in_one_look_only() -> None:
    feed, backend = make_feed()
    backend.push(WORKING, LogLine(100.0, "I", "one"))
    assert feed.poll()
    backend.push(WORKING, LogLine(100.1, "I", "two"))
    assert feed.poll()
    texts = [event.text for event in feed.take().events if isinstance(event, LogLine)]
    assert texts == ["one", "two"]
    assert feed.take().events == ()


def test_a_frozen_display_stands_still_and_catches_up() -> None:
    feed, backend = make_feed()
    feed.toggle_frozen()
    frozen = feed.take()
    assert frozen.frozen
    assert frozen.snapshot.busy == 4
    backend.push(IDLE, LogLine(101.0, "I", "meanwhile"))
    assert not feed.poll(), "the engine goes on, yet nothing is to be shown"
    assert feed.take().snapshot.busy == 4
    feed.toggle_frozen()
    look = feed.take()
    assert not look.frozen
    assert look.snapshot.busy == 0
    assert [event.text for event in look.events if isinstance(event, LogLine)] == ["meanwhile"]


def test_lost_events_are_counted_on_the_screen() -> None:
    feed, backend = make_feed()
    backend.ring = EventRing(capacity=3)
    backend.push(WORKING, *(LogLine(100.0, "I", str(number)) for number in range(10)))
    assert feed.poll()
    notice, *rest = feed.take().events
    assert isinstance(notice, Notice)
    assert notice.text.startswith("7 events")
    assert len(rest) == 3


def test_events_of_a_long_freeze_are_bounded_and_the_loss_is_said() -> None:
    feed, backend = make_feed()
    feed.toggle_frozen()
    for number in range(3):
        backend.push(WORKING, *(LogLine(100.0, "I", f"{number}/{line}") for line in range(2000)))
        feed.poll()
    feed.toggle_frozen()
    events = feed.take().events
    assert isinstance(events[0], Notice)
    assert events[0].text.startswith("1904 events")
    assert len(events) == 1 + 4096


def test_requests_are_followed_until_they_are_over() -> None:
    feed, backend = make_feed()
    feed.fire(FireRequest("hello", count=3))
    assert feed.poll()
    assert [view.number for view in feed.take().requests] == [1, 2, 3]
    backend.tickets[0].end()
    assert feed.poll()
    assert [view.state.is_over for view in feed.take().requests] == [True, False, False]
    assert feed.cancel_all() == 2
    assert feed.poll()
    assert all(view.state.is_over for view in feed.take().requests)


def test_the_list_of_requests_is_bounded_and_running_ones_stay() -> None:
    feed, backend = make_feed()
    feed.fire(FireRequest("first"))
    for _ in range(9):
        feed.fire(FireRequest("more", count=256))
        for ticket in backend.tickets[1:]:
            ticket.end()
        feed.poll()
    feed.fire(FireRequest("last"))
    feed.poll()
    numbers = [view.number for view in feed.take().requests]
    assert len(numbers) == 2048
    assert numbers[0] == 1, "the running one is kept"
    assert numbers[-1] == 2306


def test_a_refusal_reaches_whoever_fired() -> None:
    feed, backend = make_feed()
    backend.refuse = "the server is gone; wait until it is back"
    with pytest.raises(BackendError, match="server is gone"):
        feed.fire(FireRequest("hello"))
    feed.poll()
    assert feed.take().requests == ()


def test_the_server_is_looked_at_once_when_requests_fail_and_not_when_they_end() -> None:
    feed, backend = make_feed()
    feed.fire(FireRequest("hello", count=4))
    backend.tickets[0].end()
    feed.poll()
    assert ("look_now",) not in backend.calls
    backend.tickets[1].end("connection closed", RequestState.FAILED)
    backend.tickets[2].end("connection closed", RequestState.FAILED)
    feed.poll()
    feed.poll()
    assert backend.calls.count(("look_now",)) == 1
