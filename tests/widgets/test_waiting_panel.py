from slotview.engine.backend import RequestState, RequestView
from slotview.engine.observe.observation import Observation, Point
from slotview.engine.snapshot import Health, HealthState, WaitingRequest, WaitingView
from slotview.widgets.waiting_panel import WaitingPanel
from tests.widgets.host import drawn
from tests.widgets.looks import NOW, attached, look, snapshot


def waiting(of: WaitingView, width: int = 78, height: int | None = None) -> str:
    return drawn(WaitingPanel(), look(snapshot(waiting=of)), width, height)


def test_who_waits_for_what_and_since_when() -> None:
    lines = drawn(WaitingPanel(), look(), 78).splitlines()
    assert lines[0].startswith("3 wait · requests wait beside an idle slot")
    assert lines[1:4] == [
        "task 14 · any slot · for 3.2 s · 61 tokens",
        "task 15 · only slot 0 · for 1.5 s · 700 tokens",
        "task 16 · erase · only slot 2 · for 0.4 s",
    ]


def test_a_queue_that_is_not_told_is_unknown_and_not_empty() -> None:
    assert drawn(WaitingPanel(), look(attached()), 78) == "unknown · started without --metrics"
    assert drawn(WaitingPanel(), look(attached()), 38, 3) == "unknown · started without --metrics"
    assert waiting(WaitingView()).startswith("unknown · started without --metrics")


def test_an_empty_queue_says_so() -> None:
    assert waiting(WaitingView(0, ())).startswith("0 wait · the queue is empty")


def test_a_short_wait_is_measured_against_a_whole_request() -> None:
    short = Observation(history=tuple(Point(NOW - 10 + i, waiting=int(i == 5)) for i in range(10)))
    lines = drawn(WaitingPanel(), look(observation=short), 60, 12).splitlines()
    assert [line.split()[0] for line in lines if line.strip()[:1] in ("0", "1")][-2:] == ["1", "0"]


def test_one_waits_and_two_wait() -> None:
    assert waiting(WaitingView(1)).startswith("1 waits · ")
    assert waiting(WaitingView(3, why="20 s older than the slots")).startswith("3 wait · 20 s older than the slots")
    assert "each" not in waiting(WaitingView(1))


def test_a_long_queue_names_the_first_and_counts_the_rest() -> None:
    queue = tuple(WaitingRequest(100 + i, since=NOW - i) for i in range(1200))
    text = waiting(WaitingView(1200, queue), 60, 12)
    assert "task 100 · any slot" in text
    assert "and 1 197 more" in text
    assert "now" in text  # the chart still has room


def test_what_is_not_known_of_a_request_is_left_out() -> None:
    text = waiting(WaitingView(1, (WaitingRequest(7),)))
    assert "task 7 · any slot\n" in text


def test_what_is_known_of_a_request_is_never_cut_in_a_word() -> None:
    queue = WaitingView(1, (WaitingRequest(204, 6, since=NOW - 10),))
    assert waiting(queue, 38, 3).splitlines()[1] == "task 204 · any slot · for 10 s"


def test_a_low_panel_has_number_and_names() -> None:
    lines = waiting(WaitingView(2, (WaitingRequest(7), WaitingRequest(8, id_slot=1))), 38, 3).splitlines()
    assert lines == ["2 wait · requests wait beside an idle…", "task 7 · any slot", "task 8 · only slot 1"]


def test_an_old_number_says_nothing_about_now() -> None:
    gone = snapshot(waiting=WaitingView(0), health=Health(HealthState.NO_ANSWER))
    assert drawn(WaitingPanel(), look(gone), 78, None).startswith("0 wait · as last reported")


def test_requests_that_were_just_sent_are_not_denied() -> None:
    sent = tuple(RequestView(i, RequestState.WAITING, "once", NOW, task=i) for i in range(1, 8))
    queue = WaitingView(2, (WaitingRequest(1, since=NOW), WaitingRequest(2, since=NOW)))
    at_once = look(snapshot(waiting=queue), requests=sent)
    assert drawn(WaitingPanel(), at_once, 78).startswith("2 wait · 5 new, seen after this step")
    assert drawn(WaitingPanel(), at_once, 38, 3).splitlines()[0] == "2 wait · 5 new, seen after this step"
    assert drawn(WaitingPanel(), look(snapshot(waiting=WaitingView(0, ())), requests=sent[:1]), 78).startswith(
        "0 wait · 1 new, seen after this step"
    )


def test_what_a_server_elsewhere_has_seen_is_not_guessed() -> None:
    sent = (RequestView(1, RequestState.WAITING, "once", NOW),)
    told = attached(waiting=WaitingView(0))
    assert drawn(WaitingPanel(), look(told, requests=sent), 78).startswith("0 wait · the queue is empty")
