"""Cases from the field: numbers of /metrics, restarts, and tasks that change between two looks."""

from __future__ import annotations

import json

import pytest

from slotview.engine.events import Event, Notice, TaskEnded, TaskStarted
from slotview.engine.remote.read.metrics import read_metrics, read_totals
from slotview.engine.snapshot import HealthState, Totals
from tests.engine.remote.recorded import first_look, healthy, metrics, recorded, slot, watching
from tests.engine.remote.simulated import Simulation
from tests.fake_server import FakeServer, Reply, json_reply


@pytest.mark.parametrize("value", ["-nan", "nan", "+Inf", "-inf", ""])
def test_c81_no_number_before_the_first_request(value: str) -> None:
    text = f"llamacpp:n_busy_slots_per_decode {value}\nllamacpp:requests_processing 1\n"
    values = read_metrics(text.encode())
    assert values == {"n_busy_slots_per_decode": None, "requests_processing": 1}
    assert read_totals(values).busy_per_decode is None


def test_c82_the_whole_exposition_as_one_json_string() -> None:
    content = json.dumps(
        "# HELP llamacpp:prompt_tokens_total Number of prompt tokens processed.\n# TYPE llamacpp:prompt_tokens_total"
        " counter\nllamacpp:prompt_tokens_total 143\nllamacpp:requests_processing 1\nllamacpp:requests_deferred 2\n"
    )
    with FakeServer(healthy(metrics=Reply(content.encode()))) as server:
        snapshot = first_look(server)
    assert (snapshot.totals.processing, snapshot.waiting.count) == (1, 2)
    assert snapshot.totals.prompt_tokens == 143


def test_c83_the_scraped_speed_is_not_in_the_snapshot() -> None:
    for name in ("metrics_after_1", "metrics_after_2"):
        values = read_metrics(recorded(name).body)
        assert values is not None
        assert "predicted_tokens_seconds" in values
        assert all("per_second" not in field and "seconds_avg" not in field for field in Totals.__struct_fields__)
    assert read_totals(read_metrics(recorded("metrics_after_1").body) or {}) == read_totals(
        read_metrics(recorded("metrics_after_2").body) or {}
    )


def test_c83_metrics_every_zero_leaves_the_gauges_to_others() -> None:
    with FakeServer(healthy(json_reply([slot()]))) as server, watching(server, metrics_every=0) as backend:
        server.wait_for("/slots", 3)
        assert not server.asked("/metrics")
        assert backend.latest().waiting.why == "unknown (/metrics is not asked: --metrics-every 0)"


def test_c84_totals_jump_at_the_end_and_are_passed_on_as_they_are() -> None:
    turns = [metrics(tokens_predicted_total=0), metrics(tokens_predicted_total=1837)]
    with FakeServer(healthy(json_reply([slot()]), metrics=turns)) as server, watching(server) as backend:
        snapshot = backend.wait_until(lambda s: s.totals.predicted_tokens == 1837, 5)
        assert all(not isinstance(event, Notice) for event in backend.events(0).events)
    assert snapshot.totals.predicted_tokens == 1837


def test_c85_seconds_are_summed_over_the_slots() -> None:
    reply = metrics(tokens_predicted_total=1600, tokens_predicted_seconds_total=92.4, predicted_tokens_seconds=17.3)
    with FakeServer(healthy(metrics=reply)) as server:
        totals = first_look(server).totals
    assert (totals.predicted_tokens, totals.predicted_seconds) == (1600, 92.4)


def events_of(*answers: list[object], **metrics_turns: list[Reply]) -> list[Event]:
    """What a backend says happened while /slots answers these in turn."""
    turns = [json_reply(answer) for answer in answers]
    with FakeServer(healthy(turns, **metrics_turns)) as server, watching(server) as backend:
        server.wait_for("/slots", len(answers) + 1)
        backend.wait_until(lambda s: s.serial > 0, 1)
        return list(backend.events(0).events)


def test_c87_restart_under_the_dashboard() -> None:
    totals = [metrics(tokens_predicted_total=50000), metrics(tokens_predicted_total=12)]
    events = events_of([slot(task=912, decoded=900)], [slot(task=3, decoded=5)], metrics=totals)
    assert [event.text for event in events if isinstance(event, Notice)] == [
        "server restarted: counters and task ids begin again"
    ]
    assert [(e.task, e.n_decoded) for e in events if isinstance(e, TaskEnded)] == [(912, 900)]
    assert [e.task for e in events if isinstance(e, TaskStarted)] == [912, 3]


def test_c87_ids_alone_tell_where_a_server_has_no_mark_of_its_start() -> None:
    props = json_reply({"total_slots": 1, "default_generation_settings": {"n_ctx": 1024}})
    routes = healthy([json_reply([slot(task=912)]), json_reply([slot(task=3)])], props=props, metrics=metrics(x=1))
    with FakeServer(routes) as server, watching(server) as backend:
        server.wait_for("/slots", 3)
        notices = [event for event in backend.events(0).events if isinstance(event, Notice)]
    assert len(notices) == 1


def test_c87_an_older_task_that_waited_is_no_restart() -> None:
    """Pinned requests may overtake older ones (spec §5.5); the server's marks say that it still is the same."""
    events = events_of([slot(task=9, decoded=3)], [slot(task=7, decoded=1)])
    assert not [event for event in events if isinstance(event, Notice)]


def test_c91_metrics_off_leaves_everything_per_slot() -> None:
    with FakeServer(healthy(recorded("slots_generating"), metrics=recorded("metrics_off_501"))) as server:
        snapshot = first_look(server)
    assert snapshot.health.state is HealthState.OK
    assert snapshot.busy == 4
    assert snapshot.waiting.count is None
    assert snapshot.waiting.why == "unknown (server started without --metrics)"
    assert snapshot.totals == Totals()


def test_c32_with_metrics_the_queue_is_known() -> None:
    with FakeServer(healthy(recorded("slots_generating"), metrics=recorded("metrics_busy"))) as server:
        snapshot = first_look(server)
    assert snapshot.waiting.count == 2
    assert snapshot.totals.processing == 4


def test_c116_task_changed_between_two_looks() -> None:
    events = events_of([slot(task=7, decoded=900)], [slot(task=9, decoded=3)])
    ended = [event for event in events if isinstance(event, TaskEnded)]
    assert [(event.task, event.reason, event.n_decoded) for event in ended] == [(7, "unseen", 900)]
    assert [event.task for event in events if isinstance(event, TaskStarted)] == [7, 9]


def test_c116_a_task_that_came_and_went_unseen() -> None:
    props = json_reply({"total_slots": 1, "default_generation_settings": {"n_ctx": 1024}})
    turns = [[slot(busy=False, task=4)], [slot(busy=False, task=6)]]
    routes = healthy([json_reply(turn) for turn in turns], props=props)
    with FakeServer(routes) as server, watching(server, backoff=False) as backend:
        server.wait_for("/slots", 3)
        events = backend.events(0).events
    assert [(type(event).__name__, getattr(event, "task", None)) for event in events] == [
        ("TaskStarted", 6),
        ("TaskEnded", 6),
    ]


def test_c116_a_slot_that_goes_away_ends_its_task() -> None:
    events = events_of([slot(0), slot(1, task=8, decoded=4)], [slot(0)])
    assert [(event.slot, event.n_decoded) for event in events if isinstance(event, TaskEnded)] == [(1, 4)]


def test_c22_requests_that_wait_beside_an_idle_slot_keep_the_pace() -> None:
    rows = json_reply([slot(0, decoded=5), slot(1, busy=False)])
    waiting = metrics(requests_processing=1, requests_deferred=2)
    routes = healthy(rows, metrics=waiting)
    simulation = Simulation(lambda path, _params, _now: routes[path])  # type: ignore[arg-type, return-value]
    simulation.run(30)
    assert len(simulation.times("/slots")) >= 29
    assert simulation.known.deferred == 2


def test_c29_an_action_of_ours_that_waits_is_told_as_the_server_counts_it() -> None:
    reply = metrics(requests_processing=1, requests_deferred=1)
    with FakeServer(healthy(json_reply([slot(decoded=3)]), metrics=reply)) as server:
        assert first_look(server).waiting.count == 1


def test_an_average_of_0_before_the_first_decode_is_no_average() -> None:
    fresh = read_totals(read_metrics(b"llamacpp:n_decode_total 0\nllamacpp:n_busy_slots_per_decode 0\n") or {})
    assert (fresh.decodes, fresh.busy_per_decode) == (0, None)


@pytest.mark.parametrize("written", ["1_000", "\u0661\u0662", "\uff17"])
def test_what_only_python_takes_for_a_number_is_unknown(written: str) -> None:
    assert read_metrics(f"llamacpp:requests_deferred {written}\n".encode()) == {"requests_deferred": None}
    rows = json_reply([slot(0, decoded=5) | {"n_prompt_tokens": written}])
    with FakeServer(healthy(rows, metrics=metrics())) as server:
        assert [row.n_tokens for row in first_look(server).slots or ()] == [None]
