"""Questions about single slots, answered out of the next answer of /slots."""

from __future__ import annotations

import json

import pytest

from slotview.engine.backend import BackendError
from slotview.engine.remote.http.answer import Answer
from slotview.engine.remote.knowledge.details import DetailRequests

SLOTS = Answer(200, json.dumps([{"id": 0, "is_processing": False, "prompt": "Once"}]).encode())


def test_everyone_who_waits_is_served_out_of_one_answer() -> None:
    requests = DetailRequests()
    there, missing = requests.ask(0), requests.ask(7)
    requests.hear(SLOTS, {})
    assert there.result(0).prompt == "Once"
    with pytest.raises(BackendError, match="slot 7"):
        missing.result(0)


def test_who_asks_while_others_are_served_waits_for_the_next_answer() -> None:
    requests = DetailRequests()
    later = []
    requests.ask(0).add_done_callback(lambda _: later.append(requests.ask(0)))
    requests.hear(SLOTS, {})
    assert not later[0].done()
    requests.hear(SLOTS, {})
    assert later[0].result(0).prompt == "Once"


@pytest.mark.parametrize("answer", [Answer(500, SLOTS.body), Answer(200, b"<html>"), Answer()])
def test_an_answer_without_slots_tells_nothing(answer: Answer) -> None:
    requests = DetailRequests()
    asked = requests.ask(0)
    requests.hear(answer, {})
    with pytest.raises(BackendError):
        asked.result(0)


def test_nobody_waits_for_a_server_that_is_left() -> None:
    requests = DetailRequests()
    asked = requests.ask(0)
    requests.give_up("closed")
    with pytest.raises(BackendError, match="closed"):
        asked.result(0)
