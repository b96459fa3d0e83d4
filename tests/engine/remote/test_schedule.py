"""How often a server is asked, in virtual time."""

from __future__ import annotations

from itertools import pairwise

import pytest

from slotview.engine.events import Notice, TaskEnded, TaskStarted
from slotview.engine.remote.http.answer import Answer, Fault
from slotview.engine.remote.knowledge.endpoint import Route
from slotview.engine.remote.picture import picture
from slotview.engine.remote.verdict.word import judge
from slotview.engine.snapshot import EndpointState, Health, HealthState
from tests.engine.remote.recorded import body, healthy, metrics, recorded, slot
from tests.engine.remote.simulated import Server, Simulation
from tests.fake_server import NOT_FOUND, Reply, error_reply, json_reply

IDLE = [slot(busy=False)]
CALM = metrics(requests_processing=0, requests_deferred=0, n_decode_total=5)


def server(slots: object = IDLE, metrics: Reply = CALM, **props: object) -> Server:
    """A server that never changes."""
    routes = healthy(json_reply(slots), metrics=metrics)
    routes["/props"] = json_reply({**body("props"), "build_info": "b11434-0123abcd", **props})

    def answer(path: str, _params: dict[str, str], _now: float) -> Reply:
        reply = routes.get(path, NOT_FOUND)
        assert isinstance(reply, Reply)
        return reply

    return answer


def note(simulation: Simulation) -> str:
    view = picture(simulation.known, "", Health(), simulation.now, 0).poll
    assert view is not None
    return view.note


def gaps(times: list[float]) -> list[float]:
    return [round(after - before) for before, after in pairwise(times)]


def test_props_are_asked_before_anything_else() -> None:
    simulation = Simulation(server())
    simulation.run(0.1)
    paths = [path for _, path, _ in simulation.asked]
    assert paths[0] == "/props"
    assert sorted(paths) == ["/metrics", "/props", "/props", "/slots", "/v1/models"]


def test_busy_slots_are_asked_at_the_interval_with_metrics_beside() -> None:
    simulation = Simulation(server([slot(decoded=5)], metrics(requests_processing=1)))
    simulation.run(20)
    assert set(gaps(simulation.times("/slots"))) == {1}
    assert len(simulation.times("/metrics")) == len(simulation.times("/slots"))
    assert [when < 0.1 for when in simulation.times("/props")] == [True, True]  # do two servers take turns?
    assert simulation.busiest_second(since=1) <= 2


def test_idle_slots_are_asked_at_doubling_gaps_up_to_a_minute() -> None:
    simulation = Simulation(server(metrics=recorded("metrics_off_501"), endpoint_metrics=False))
    simulation.run(400)
    assert gaps(simulation.times("/slots"))[:8] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert note(simulation).startswith("idle, looking every 60 s")


def test_an_idle_attach_asks_at_most_twice_a_second() -> None:
    for metrics_reply, told in ((CALM, True), (recorded("metrics_off_501"), False)):
        simulation = Simulation(server(metrics=metrics_reply, endpoint_metrics=told))
        simulation.run(100)
        assert simulation.busiest_second(since=1) <= 2
        assert len(simulation.asked) / 100 < 1.5


def test_metrics_make_looking_at_long_idle_slots_needless() -> None:
    simulation = Simulation(server())
    simulation.run(400)
    assert gaps(simulation.times("/slots")) == [1, 2, 4, 8, 16, 32]
    assert note(simulation) == "idle, not polling; /metrics will show when work begins"
    assert simulation.known.slots_at == pytest.approx(simulation.now, abs=2)


def test_a_server_that_never_sleeps_is_looked_at_each_minute_beside_its_metrics() -> None:
    simulation = Simulation(server(is_sleeping=None))
    simulation.run(400)
    assert gaps(simulation.times("/slots"))[:9] == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert note(simulation) == "idle, looking every 60 s"


@pytest.mark.parametrize(
    "sign", [{"requests_processing": 1}, {"requests_processing": 0, "requests_deferred": 1},
             {"requests_processing": 0, "n_decode_total": 9}]
)  # fmt: skip
def test_metrics_tell_when_work_begins(sign: dict[str, float]) -> None:
    routes = server()

    def begins(path: str, params: dict[str, str], now: float) -> Reply | Answer:
        return metrics(**sign) if path == "/metrics" and now > 200 else routes(path, params, now)

    simulation = Simulation(begins)
    simulation.run(203)
    assert 200 < simulation.times("/slots")[-1] < 202.1


def test_metrics_that_are_hardly_ever_read_tell_of_no_work() -> None:
    simulation = Simulation(server(), metrics_every=3600)
    simulation.run(600)
    assert len(simulation.times("/metrics")) == 1
    assert max(gaps(simulation.times("/slots"))) <= 60
    assert simulation.now - simulation.times("/slots")[-1] < 61


def test_an_idle_server_without_metrics_is_watched_for_sleep_by_props() -> None:
    simulation = Simulation(server(metrics=recorded("metrics_off_501"), endpoint_metrics=False))
    simulation.run(60)
    assert len(simulation.times("/props")) >= 50


def test_no_backoff_keeps_the_pace() -> None:
    simulation = Simulation(server(), backoff=False)
    simulation.run(30)
    assert set(gaps(simulation.times("/slots"))) == {1}


def test_a_sleeping_model_is_asked_for_props_only() -> None:
    simulation = Simulation(server(is_sleeping=True))
    simulation.run(100)
    assert {path for _, path, _ in simulation.asked} == {"/props"}
    assert note(simulation) == "not polling"
    assert judge(simulation.known, "h", now=simulation.now).state is HealthState.ASLEEP


def test_a_key_press_wakes_a_sleeping_model() -> None:
    simulation = Simulation(server(is_sleeping=True))
    simulation.run(10)
    simulation.known.look_now(simulation.now)
    simulation.run(1)
    assert len(simulation.times("/slots")) == 1


def test_after_a_restart_the_facts_are_asked_anew() -> None:
    old = server([slot(task=50, decoded=5)], metrics(tokens_predicted_total=900), model_alias="old", media_marker=None)
    new = server([slot(task=51, decoded=6)], metrics(tokens_predicted_total=3), model_alias="new", media_marker="x")
    simulation = Simulation(lambda path, params, now: (new if now > 20 else old)(path, params, now))
    simulation.run(23)
    assert simulation.known.props is not None
    assert simulation.known.props.model == "new"
    assert simulation.times("/v1/models")[-1] > 20
    restarts = [event for event in simulation.known.events if "restarted" in getattr(event, "text", "")]
    assert len(restarts) == 1


def test_a_model_that_fell_asleep_between_two_looks_is_not_woken() -> None:
    awake, asleep = server(endpoint_metrics=False), server(endpoint_metrics=False, is_sleeping=True)
    simulation = Simulation(lambda path, params, now: (asleep if now > 7.5 else awake)(path, params, now))
    simulation.run(60)
    assert max(simulation.times("/slots")) <= 7.5


def test_a_model_that_woke_is_looked_at_again() -> None:
    awake, asleep = server(), server(is_sleeping=True)
    simulation = Simulation(lambda path, params, now: (asleep if now < 30 else awake)(path, params, now))
    simulation.run(32)
    assert 30 < simulation.times("/slots")[0] < 31.5


@pytest.mark.parametrize("build", ["b8000-0123abcd", "b0-unknown"])
def test_metrics_of_an_old_build_that_can_sleep_are_read_only_with_a_look(build: str) -> None:
    simulation = Simulation(server(build_info=build))
    simulation.run(100)
    assert len(simulation.times("/metrics")) == len(simulation.times("/slots")) <= 9


def test_a_new_counter_tells_that_a_build_without_a_number_lets_its_model_sleep() -> None:
    new = metrics(requests_processing=0, requests_deferred=0, n_decode_total=5, prompt_tokens_cached_total=0)
    simulation = Simulation(server(metrics=new, build_info="b0-unknown"))
    simulation.run(300)
    assert len(simulation.times("/slots")) < 9
    assert len(simulation.times("/metrics")) > 100


@pytest.mark.parametrize(("every", "expected"), [(0, range(1)), (10, range(9, 12)), (None, range(95, 102))])
def test_metrics_every(every: float | None, expected: range) -> None:
    simulation = Simulation(server([slot(decoded=5)], metrics(requests_processing=1)), metrics_every=every)
    simulation.run(99)
    assert len(simulation.times("/metrics")) in expected


def test_waiting_requests_that_were_told_long_ago_count_neither_as_work_nor_as_of_now() -> None:
    def ends(path: str, params: dict[str, str], now: float) -> Reply | Answer:
        busy = now < 8
        queue = metrics(requests_processing=1, requests_deferred=3 if busy else 0, n_decode_total=now)
        return server([slot(busy=busy)], queue)(path, params, now)

    simulation = Simulation(ends, metrics_every=60)
    simulation.run(2)
    waiting = picture(simulation.known, "", Health(), simulation.now, 0).waiting
    assert (waiting.count, waiting.now) == (3, 3)
    simulation.run(38)
    waiting = picture(simulation.known, "", Health(), simulation.now, 0).waiting
    assert (waiting.count, waiting.now) == (3, None)
    assert waiting.why is not None
    assert waiting.why.endswith("s older than the slots")
    assert "idle, looking every" in note(simulation)
    simulation.run(25)
    assert picture(simulation.known, "", Health(), simulation.now, 0).waiting.count == 0


def test_endpoints_that_are_off_are_not_asked() -> None:
    simulation = Simulation(server(endpoint_slots=False, endpoint_metrics=False))
    simulation.run(30)
    assert not simulation.times("/slots")
    assert not simulation.times("/metrics")
    assert len(simulation.times("/health")) >= 10  # to see whether the server is still there


@pytest.mark.parametrize("endpoint", ["/slots", "/metrics", "/v1/models"])
@pytest.mark.parametrize("since", [0, 5])
@pytest.mark.parametrize("word", [error_reply(404, "not here"), error_reply(501, "off")])
def test_one_word_that_an_endpoint_is_not_there_does_not_stand_for_ever(endpoint: str, since: int, word: Reply) -> None:
    healthy_server = server([slot(decoded=5)], metrics(requests_processing=1))

    def reloaded(path: str, params: dict[str, str], now: float) -> Reply | Answer:
        return word if path == endpoint and since <= now < since + 2 else healthy_server(path, params, now)

    simulation = Simulation(reloaded)
    simulation.run(70)
    assert {simulation.known.state(route) for route in (Route.SLOTS, Route.METRICS, Route.MODELS)} == {EndpointState.OK}


def test_a_large_answer_is_asked_for_less_often() -> None:
    big = json_reply([slot(decoded=5, prompt="x" * 4_000_000)])
    routes = server()
    simulation = Simulation(lambda path, p, now: big if path == "/slots" else routes(path, p, now), interval=0.5)
    simulation.run(40)
    assert gaps(simulation.times("/slots"))[-1] == 4


def test_a_slow_answer_is_asked_for_less_often() -> None:
    def slow(path: str, params: dict[str, str], now: float) -> Reply | Answer:
        reply = server([slot(decoded=5)])(path, params, now)
        assert isinstance(reply, Reply)
        return Answer(reply.status, reply.body, seconds=3.0) if path == "/slots" else reply

    simulation = Simulation(slow, interval=0.5)
    simulation.run(60)
    assert gaps(simulation.times("/slots"))[-1] == 6


def test_an_answer_over_the_limit_is_asked_for_ever_less_often() -> None:
    routes = server()
    too_large = Answer(200, fault=Fault.TOO_LARGE, message="answer over 8 MB")
    simulation = Simulation(lambda path, p, now: too_large if path == "/slots" else routes(path, p, now))
    simulation.run(300)
    assert gaps(simulation.times("/slots"))[:5] == [5, 10, 20, 40, 60]
    assert "answer too large" in note(simulation)
    health = judge(simulation.known, "h", now=simulation.now)
    assert "over 8 MB" in health.message


def test_a_refused_connection_is_tried_again_with_growing_gaps() -> None:
    refused = Answer(fault=Fault.REFUSED, message="refused")
    simulation = Simulation(lambda *_: refused)
    simulation.run(60)
    times = [when for when, _, _ in simulation.asked]
    assert times[1] < 1
    assert gaps(times)[-1] == 8
    assert len(times) < 14


def test_no_question_carries_fail_on_no_slot() -> None:
    simulation = Simulation(server([slot(decoded=1)]))
    simulation.run(30)
    assert all(not params and "fail_on_no_slot" not in path for _, path, params in simulation.asked)


@pytest.mark.parametrize(("pause", "seconds"), [(None, 10), (30.0, 30)])
def test_a_server_that_limits_questions_is_left_alone_for_as_long_as_it_says(pause: float | None, seconds: int) -> None:
    routes = server([slot(decoded=5)])
    limited = Answer(429, b"slow down", pause=pause)
    simulation = Simulation(lambda path, p, now: limited if path == "/slots" else routes(path, p, now))
    simulation.run(100)
    times = [when for when, path, _ in simulation.asked if path == "/slots"]
    assert set(gaps(times)) == {seconds}
    assert len(simulation.asked) < 5 * len(times)
    assert simulation.busiest_second(since=1) <= 4
    simulation.known.look_now(simulation.now)
    simulation.run(0.5)
    assert simulation.times("/slots")[-1] > times[-1]


def test_slots_that_are_being_loaded_are_asked_for_every_second() -> None:
    def answer(path: str, params: dict[str, str], now: float) -> Reply | Answer:
        return recorded("health_loading_503") if path == "/slots" and now < 10 else server()(path, params, now)

    simulation = Simulation(answer)
    simulation.run(9)
    assert set(gaps(simulation.times("/slots"))) == {1}


def test_before_the_first_answer_the_screen_says_how_long_it_has_waited() -> None:
    known = Simulation(server()).known
    known.ask(Route.PROPS, 10.0)
    assert judge(known, "host:8080", now=10.9).message == "asking host:8080"
    assert judge(known, "host:8080", now=13.0).message == "no answer yet for 3 s"


def test_a_restart_that_gives_a_task_the_same_id_ends_it_once_and_begins_it_again() -> None:
    def answer(path: str, params: dict[str, str], now: float) -> Reply | Answer:
        is_new = now > 5
        return server([slot(task=3, decoded=5 if is_new else 900)], metrics(n_decode_total=9 if is_new else 5000))(
            path, params, now
        )

    simulation = Simulation(answer)
    simulation.run(10)
    told = [type(event) for event in simulation.known.events if not isinstance(event, Notice)]
    assert told == [TaskStarted, TaskEnded, TaskStarted]
