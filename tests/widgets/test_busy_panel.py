import pytest

from slotview.engine.backend import RequestState, RequestView
from slotview.engine.observe.observation import Observation
from slotview.engine.snapshot import Health, HealthState, Totals, WaitingView
from slotview.widgets.busy_panel import BusyPanel
from slotview.widgets.look import NO_LOOK
from tests.widgets.host import drawn
from tests.widgets.looks import SLOTS, attached, history, look, many, snapshot


def test_now_average_and_what_they_mean() -> None:
    lines = drawn(BusyPanel(), look(), 78).splitlines()
    assert lines[0] == "3 of 4 busy now · average 2.41 per decode, these flags"
    assert lines[1] == "1 slot free, yet requests wait"


def test_all_busy_with_waiters_says_that_more_slots_would_help() -> None:
    busy = snapshot(SLOTS[:3], waiting=WaitingView(4))
    assert "more slots would help" in drawn(BusyPanel(), look(busy), 78)


def test_in_little_room_nothing_is_cut_off_without_a_sign() -> None:
    busy = look(snapshot(SLOTS[:3], waiting=WaitingView(4)))
    now, *words = drawn(BusyPanel(), busy, 28, 3).splitlines()
    assert now == "3 of 3 busy now"  # an average cut off would be another number
    assert words == ["all busy and requests wait:", "more slots would help while…"]


def test_an_average_that_is_not_told_is_unknown() -> None:
    for totals in (Totals(), Totals(decodes=700)):  # builds before September 2024 count decodes only
        text = drawn(BusyPanel(), look(attached(totals=totals)), 78)
        assert "average per decode: unknown" in text
        assert "0.00" not in text


def test_before_the_first_decode_there_is_no_average() -> None:
    fresh = snapshot(SLOTS[:3], totals=Totals(decodes=0))
    assert "average per decode: none yet" in drawn(BusyPanel(), look(fresh), 78)
    retuned = snapshot(SLOTS[:3], totals=Totals(decodes=700))  # decodes go on, the average begins anew
    for shown in (fresh, retuned):
        assert drawn(BusyPanel(), look(shown), 38, 3).splitlines()[0] == "3 of 3 busy now · no average yet"


def test_a_server_elsewhere_counts_since_it_started() -> None:
    told = attached(totals=Totals(busy_per_decode=1.5))
    for width in (42, 78):
        assert "average 1.50 per decode since start" in drawn(BusyPanel(), look(told), width)


def test_old_slots_say_nothing_about_a_new_request() -> None:
    for state in (HealthState.REFUSED, HealthState.ASLEEP):
        lines = drawn(BusyPanel(), look(attached(health=Health(state))), 78).splitlines()
        assert "were busy" in lines[0]
        assert lines[1] == "as last reported"


def test_untold_slots_are_unknown() -> None:
    text = drawn(BusyPanel(), look(snapshot(None, totals=Totals())), 78)
    assert text.startswith("– of 4 busy now")
    assert "does not show its slots" in text
    assert drawn(BusyPanel(), NO_LOOK, 78).startswith("– busy now")


def test_a_server_that_hides_its_slots_still_counts_the_busy_ones() -> None:
    told = snapshot(None, totals=Totals(processing=4), waiting=WaitingView(2))
    lines = drawn(BusyPanel(), look(told), 78).splitlines()
    assert lines[0].startswith("4 of 4 busy now")
    assert lines[1].startswith("all busy and requests wait")


def test_nobody_is_busy_now_at_a_server_that_is_gone() -> None:
    gone = snapshot(SLOTS[:3], health=Health(HealthState.REFUSED))
    assert drawn(BusyPanel(), look(gone), 78).startswith("3 of 3 were busy")


def test_the_charts_scale_is_the_number_of_slots() -> None:
    lines = drawn(BusyPanel(), look(snapshot(many(64))), 60, 9).splitlines()
    assert lines[2].startswith("    64")
    assert len(lines) == 9


@pytest.mark.parametrize("height", [1, 2, 3, 4, 8, 20])
@pytest.mark.parametrize("width", [20, 42, 118])
def test_numbers_come_first_in_any_size(width: int, height: int) -> None:
    of = look(observation=Observation(history=history(break_at=50)))
    lines = BusyPanel().draw(of, width, height)
    assert "3 of 4 busy" in "".join(text for text, _ in lines[0])


def test_a_low_and_narrow_panel_has_room_for_the_words() -> None:
    busy = snapshot(SLOTS[:3], waiting=WaitingView(4))
    assert drawn(BusyPanel(), look(busy), 38, 3).splitlines() == [
        "3 of 3 busy now · average 2.41",
        "all busy and requests wait: more slots",
        "would help while memory lasts",
    ]


def test_a_free_slot_is_no_promise_while_requests_are_not_seen_yet() -> None:
    sent = tuple(RequestView(i, RequestState.WAITING, "once", 100.0, task=20 + i) for i in range(1, 6))
    lines = drawn(BusyPanel(), look(snapshot(waiting=WaitingView(0, ())), requests=sent), 78).splitlines()
    assert lines[1] == "1 slot free; 5 new requests are seen after this step"
    full = snapshot(SLOTS[:3], waiting=WaitingView(0, ()))
    lines = drawn(BusyPanel(), look(full, requests=sent[:1]), 78).splitlines()
    assert lines[1] == "all slots busy; 1 new request is seen after this step"
