"""Cases from the field: routers, llama-swap, and models that sleep."""

from __future__ import annotations

from typing import cast

import pytest

from slotview.engine.backend import BackendError, FireRequest, SlotAction
from slotview.engine.events import Notice, TaskEnded
from slotview.engine.remote.once import ExitCode, snapshot_once
from slotview.engine.remote.picture import picture
from slotview.engine.remote.read.models import read_models
from slotview.engine.remote.verdict.word import judge
from slotview.engine.snapshot import HealthState
from tests.engine.remote.recorded import body, has_looked, healthy, metrics, recorded, slot, watching
from tests.engine.remote.simulated import Simulation
from tests.engine.remote.test_schedule import note
from tests.fake_server import NOT_FOUND, FakeServer, Reply, Request, Route, Routes, error_reply, json_reply

ROUTER_PROPS = {
    "role": "router",
    "max_instances": 4,
    "models_autoload": False,
    "model_alias": "llama-server",
    "model_path": "none",
    "default_generation_settings": {"params": None, "n_ctx": 0},
    "ui_settings": {},
    "build_info": "b1-x",
    "cors_proxy_enabled": False,
}
MODELS = {
    "data": [
        {
            "id": "big",
            "status": {
                "value": "loaded",
                "args": ["llama-server", "--ctx-size", "8000", "--parallel", "2", "--kv-unified"],
            },
        },
        {"id": "small", "status": {"value": "unloaded"}},
        {"id": "broken", "status": {"value": "unloaded", "failed": True, "args": ["llama-server", "--parallel", "3"]}},
    ],
    "object": "list",
}
MISSING = error_reply(400, "model name is missing from the request", "invalid_request_error")


def router(slots: list[object] | None = None) -> Routes:
    """A router in front of one loaded model."""
    child = healthy(json_reply([slot(decoded=3)] if slots is None else slots))

    def of_model(path: str) -> Route:
        def answer(request: Request) -> Reply:
            model = request.query.get("model")
            if model is None:
                return json_reply(ROUTER_PROPS) if path == "/props" else MISSING
            if model != "big":
                return error_reply(400, f"model '{model}' not found", "invalid_request_error")
            reply = child[path]
            assert isinstance(reply, Reply)
            return reply

        return answer

    own: Routes = {"/health": recorded("health_ok"), "/models": json_reply(MODELS)}
    return own | {path: of_model(path) for path in ("/props", "/slots", "/metrics")}


def test_c99_without_a_model_only_the_list_is_asked() -> None:
    with FakeServer(router()) as server, watching(server) as backend:
        snapshot = backend.wait_until(lambda s: bool(s.facts.models), 5)
        assert not server.asked("/slots")
        with pytest.raises(BackendError, match="choose one first"):
            backend.submit(FireRequest("hello"))
    assert snapshot.health.state is HealthState.ROUTER
    assert snapshot.health.message == "router with 3 models, none chosen"
    assert snapshot.facts.models == (("big", "loaded"), ("small", "unloaded"), ("broken", "failed"))


def test_how_a_model_that_is_not_loaded_would_be_started() -> None:
    with FakeServer(router()) as server, watching(server) as backend:
        backend.wait_until(lambda s: bool(s.facts.models), 5)
        backend.choose_model("broken")
        snapshot = backend.wait_until(lambda s: s.facts.n_slots is not None, 5)
    assert (snapshot.facts.n_slots, snapshot.facts.unified, snapshot.slots) == (3, False, None)


def test_c99_the_chosen_models_slots_with_autoload_off() -> None:
    with FakeServer(router()) as server, watching(server) as backend:
        backend.wait_until(lambda s: bool(s.facts.models), 5)
        backend.choose_model("big")
        snapshot = backend.wait_until(has_looked, 5)
        assert all(request.query == {"model": "big", "autoload": "false"} for request in server.asked("/slots"))
    assert snapshot.busy == 1
    assert snapshot.health.state is HealthState.OK
    assert (snapshot.facts.unified, snapshot.facts.n_ctx) == (True, 8192)  # told by the router's list
    assert snapshot.pool.cells == 8192


def test_c99_a_model_that_is_not_loaded_is_not_asked() -> None:
    with FakeServer(router()) as server, watching(server, model="small") as backend:
        snapshot = backend.wait_until(lambda s: s.health.state is HealthState.ROUTER, 5)
        assert not server.asked("/slots")
        assert [request.query for request in server.asked("/props")] == [{}]
    assert snapshot.health.message == "small is unloaded"
    assert "would load it" in snapshot.health.advice


def test_c99_a_model_whose_server_the_router_does_not_reach() -> None:
    unreached = error_reply(500, "proxy error: Could not establish connection", "server_error")
    with FakeServer(router() | {"/slots": unreached}) as server:
        found, code = snapshot_once(server.url, model="big")
    assert code is ExitCode.FAILED
    assert found["health"]["message"].startswith("the router does not reach the server of big (500 proxy error")
    assert "being stopped" in found["health"]["advice"]


def test_c99_a_model_that_does_not_exist() -> None:
    with FakeServer(router()) as server, watching(server, model="nope") as backend:
        snapshot = backend.wait_until(lambda s: s.health.state is HealthState.ROUTER, 5)
    assert snapshot.health.message == "the router has no model nope"


def test_c99_a_model_of_which_nothing_says_whether_it_is_loaded() -> None:
    listed = json_reply({"data": [{"id": "big", "status": {"value": 7}}, {"id": "small"}]})
    with FakeServer(router() | {"/models": listed}) as server:
        found, code = snapshot_once(server.url, model="big")
    assert (code, found["server"]["models"]) == (ExitCode.FAILED, {"big": "", "small": ""})
    assert found["health"]["message"] == "the router does not say whether big is loaded"
    assert found["waiting"]["why"] == "unknown (nothing says whether the model is loaded)"


def test_c99_a_model_that_is_unloaded_or_fails_while_it_is_watched() -> None:
    status: dict[str, object] = {"value": "loaded"}

    def answer(path: str, params: dict[str, str], now: float) -> Reply:
        if path == "/models":
            return json_reply({"data": [{"id": "big", "status": status}]})
        routes = router([slot(task=int(now))])
        route = routes.get(path, NOT_FOUND)
        return route(Request("GET", path, params, {}, b"", now)) if callable(route) else cast(Reply, route)

    simulation = Simulation(answer, model="big")
    simulation.run(10)
    status |= {"value": "unloaded", "failed": True}
    simulation.run(5)
    n_looks = len(simulation.times("/slots"))
    seen = picture(simulation.known, "", judge(simulation.known, "h", now=simulation.now), simulation.now, 0)
    assert seen.health.message == "big is not loaded, and the router says that it failed"
    assert (seen.waiting.why, seen.poll and seen.poll.note) == ("unknown (the model is not loaded)", "not polling")
    events = [event for event in simulation.known.events if event.time > 9]
    assert [event.text for event in events if isinstance(event, Notice)] == ["big is failed: its slots are gone"]
    assert [event.slot for event in events if isinstance(event, TaskEnded)][-1] == 0
    simulation.run(5)
    assert len(simulation.times("/slots")) == n_looks
    status |= {"value": "loaded", "failed": False}
    simulation.run(5)
    assert len(simulation.times("/slots")) > n_looks
    assert not any("restarted" in event.text for event in simulation.known.events if isinstance(event, Notice))


@pytest.mark.parametrize(("state", "told"), [("loading", "being loaded"), ("downloading", "being downloaded")])
def test_c99_a_model_that_is_on_its_way(state: str, told: str) -> None:
    models = json_reply({"data": [{"id": "big", "status": {"value": state}}]})
    with FakeServer(router() | {"/models": models}) as server:
        found, code = snapshot_once(server.url, model="big")
    assert (code, found["health"]["message"]) == (ExitCode.LOADING, f"big is {told}")


@pytest.mark.parametrize("asked_for", ["\u26a1\ufe0ffast", "\u26a1\u2426fast", "quick"])
def test_c99_a_model_is_asked_for_by_the_name_that_the_router_gave_it(asked_for: str) -> None:
    entry = {"id": "\u26a1\ufe0ffast", "aliases": ["quick"], "status": {"value": "loaded"}}
    routes = router() | {"/models": json_reply({"data": [entry]})}
    routes |= {path: healthy()[path] for path in ("/slots", "/metrics")}
    with FakeServer(routes) as server, watching(server, model=asked_for) as backend:
        server.wait_for("/slots")
        assert server.asked("/slots")[0].query["model"] == "\u26a1\ufe0ffast"
        assert backend.chosen_model == "\u26a1\u2426fast"


def test_c99_requests_and_actions_carry_the_model_in_their_body() -> None:
    routes = router() | {
        "/completion": recorded("completion_stream"),
        "/slots/0": json_reply({"id_slot": 0, "n_erased": 26}),
    }
    with FakeServer(routes) as server, watching(server, model="big") as backend:
        backend.wait_until(has_looked, 5)
        backend.submit(FireRequest("hello", n_predict=4))
        assert backend.slot_action(SlotAction.ERASE, 0).result(5).n_tokens == 26
        (fired,) = server.wait_for("/completion")
        (erase,) = server.asked("/slots/0")
    assert isinstance(fired.json, dict)
    assert fired.json["model"] == "big"
    assert erase.json == {"model": "big"}


def test_c100_a_router_has_no_context_and_no_slots() -> None:
    with FakeServer(router()) as server, watching(server) as backend:
        snapshot = backend.wait_until(lambda s: bool(s.facts.models), 5)
    assert (snapshot.facts.n_ctx_slot, snapshot.facts.n_slots, snapshot.slots) == (None, None, None)
    assert snapshot.pool.cells is None
    assert snapshot.pool.why == "unknown (the slots have not been reported yet)"


def test_c102_a_sleeping_model_is_left_asleep() -> None:
    with FakeServer(healthy(props=recorded("props_sleeping"))) as server, watching(server) as backend:
        snapshot = backend.wait_until(lambda s: s.health.state is HealthState.ASLEEP, 5)
        server.wait_for("/props", 2)
        assert {request.path for request in server.requests} == {"/props"}
        assert snapshot.poll is not None
        assert snapshot.poll.note == "not polling"
        with pytest.raises(BackendError, match="asleep"):
            backend.details(0).result(1)
        backend.look_now()
        server.wait_for("/slots")


def swap(path: str, _params: dict[str, str], _now: float) -> Reply:
    """llama-swap with one running and one stopped model; its own /metrics has other names."""
    upstream = {
        f"/upstream/big-model{route}": reply for route, reply in healthy(json_reply([slot(busy=False)])).items()
    }
    routes = {
        "/running": json_reply({"running": [{"model": "big-model", "state": "ready"}]}),
        "/health": Reply(b"OK", content_type="text/plain"),
        "/v1/models": json_reply({"data": [{"id": "big-model"}, {"id": "other"}]}),
        "/metrics": metrics(),
        **upstream,
    }
    reply = routes.get(path, NOT_FOUND)
    assert isinstance(reply, Reply)
    return reply


def test_c104_llama_swap_is_recognised() -> None:
    with FakeServer({}) as server:

        def answer(request: Request) -> Reply:
            return swap(request.path, request.query, 0)

        server.routes = dict.fromkeys(
            ["/running", "/health", "/v1/models", *(f"/upstream/big-model/{n}" for n in ("slots", "props", "metrics"))],
            answer,
        )
        with watching(server) as backend:
            snapshot = backend.wait_until(lambda s: len(s.facts.models) == 2, 5)
            assert snapshot.health.message == "llama-swap with 2 models, none chosen"
            assert snapshot.facts.models == (("big-model", "ready"), ("other", "stopped"))
            backend.choose_model("big-model")
            snapshot = backend.wait_until(has_looked, 5)
            assert snapshot.slots is not None
            assert snapshot.slots[0].n_tokens == 20
            backend.choose_model("other")
            snapshot = backend.wait_until(lambda s: s.health.state is HealthState.ROUTER, 5)
            assert snapshot.health.message == "other is stopped"
            assert snapshot.slots is None
            assert not server.asked("/upstream/other/slots")


def test_c104_a_path_to_a_stopped_model_does_not_load_it() -> None:
    with FakeServer({}, default=NOT_FOUND) as server:
        server.routes = {
            path: swap(path, {}, 0) for path in ("/running", "/health", "/v1/models", "/upstream/big-model/slots")
        }
        with watching(f"{server.url}/upstream/other/v1") as backend:
            snapshot = backend.wait_until(lambda s: s.health.message == "other is stopped", 5)
            assert not [request for request in server.requests if "upstream" in request.path]
        with watching(f"{server.url}/upstream/big-model") as backend:
            snapshot = backend.wait_until(lambda s: s.slots is not None, 5)
    assert snapshot.facts.model == "big-model"


def test_c104_its_idle_timer_may_run_out() -> None:
    simulation = Simulation(swap, model="big-model")
    simulation.run(300)
    upstream = [when for when, path, _ in simulation.asked if path.startswith("/upstream")]
    assert max(upstream) < 130
    assert len(simulation.times("/running")) > 250
    assert note(simulation) == "idle, not polling, so that llama-swap can unload the model"


@pytest.mark.parametrize("path", ["/running", "/upstream/big-model/slots"])
@pytest.mark.parametrize("word", [Reply(b"<html>"), Reply(b"", 502), NOT_FOUND])
def test_c104_is_recognised_and_shown_though_a_first_answer_was_odd(path: str, word: Reply) -> None:
    def odd(asked: str, params: dict[str, str], now: float) -> Reply:
        return word if asked == path and 5 * path.startswith("/up") <= now < 6 else swap(asked, params, now)

    simulation = Simulation(odd, model="big-model")
    simulation.run(150)
    assert simulation.known.slots_at is not None
    assert simulation.known.slots_at > 6


@pytest.mark.parametrize("latency", [0.002, 0.15, 0.3])
def test_c104_each_look_at_idle_slots_follows_a_word_on_what_is_running(latency: float) -> None:
    simulation = Simulation(swap, model="big-model", latency=latency)
    simulation.run(100)
    looks = [when for when in simulation.times("/upstream/big-model/slots") if when > 2]
    assert len(looks) > 4
    told = simulation.times("/running")
    assert all(min(look - when for when in told if when < look) <= 2.1 * latency for look in looks)


KEYLESS = Reply(
    b"unauthorized: invalid or missing API key", 401, "text/plain", {"WWW-Authenticate": 'Basic realm="llama-swap"'}
)


@pytest.mark.parametrize("key", [None, "wrong", "right"])
def test_c104_a_key_is_asked_for_where_only_the_models_need_one(key: str | None) -> None:
    def answer(request: Request) -> Reply:
        is_known = request.headers.get("authorization") == "Bearer right"
        return swap(request.path, request.query, 0) if is_known or request.path == "/health" else KEYLESS

    paths = ("/running", "/health", "/v1/models", *(f"/upstream/big-model/{name}" for name in ("slots", "props")))
    with FakeServer(dict.fromkeys(paths, answer)) as server:
        found, code = snapshot_once(server.url, api_key=key, model="big-model")
    if key == "right":
        assert (code, len(found["slots"])) == (ExitCode.RIGHT, 1)
    else:
        assert (code, found["health"]["state"]) == (ExitCode.KEY, "key needed")
        assert found["health"]["message"] == ("the API key is wrong" if key else "API key needed")
        assert "--api-key" in found["health"]["advice"]


@pytest.mark.parametrize(
    ("model", "code", "message"),
    [
        ("other", ExitCode.ASLEEP, "other is stopped"),
        ("far", ExitCode.NO_MODEL, "far is at a peer of the llama-swap, which shows none of its slots"),
        ("nope", ExitCode.NO_MODEL, "the llama-swap has no model nope"),
        (None, ExitCode.NO_MODEL, "llama-swap with 3 models, none chosen"),
    ],
)
def test_c104_the_running_models_are_not_taken_for_all(model: str | None, code: ExitCode, message: str) -> None:
    routes: Routes = {path: swap(path, {}, 0) for path in ("/running", "/health")}
    far = {"id": "far", "meta": {"llamaswap": {"peerID": "box"}}}
    routes["/v1/models"] = json_reply({"data": [{"id": "big-model"}, {"id": "other"}, far]})
    with FakeServer(routes) as server:
        found, exit_code = snapshot_once(server.url, model=model)
    assert (exit_code, found["health"]["message"]) == (code, message)


def test_router_child_that_sleeps_is_not_polled() -> None:
    routes = router()
    models = {"data": [{"id": "big", "status": {"value": "sleeping"}}]}
    routes["/models"] = json_reply(models)

    def answer(path: str, params: dict[str, str], now: float) -> Reply:
        route = routes.get(path, NOT_FOUND)
        if isinstance(route, Reply):
            return route
        assert callable(route)
        return route(Request("GET", path, params, {}, b"", now))

    simulation = Simulation(answer, model="big")
    simulation.run(20)
    assert not simulation.times("/slots")
    assert simulation.known.asleep


def test_props_of_a_model_are_not_taken_for_those_of_the_next() -> None:
    assert body("props")["total_slots"] == 4
    with FakeServer(router()) as server, watching(server, model="big") as backend:
        backend.wait_until(has_looked, 5)
        backend.choose_model("small")
        snapshot = backend.latest()
    assert snapshot.slots is None
    assert snapshot.facts.n_slots is None


@pytest.mark.parametrize(("exit_code", "state"), [(10, "unloaded"), (1, "failed"), (256, "failed"), (None, "failed")])
def test_a_router_of_may_2026_calls_models_failed_that_never_ran(exit_code: int | None, state: str) -> None:
    status = {"value": "unloaded", "failed": True} | ({} if exit_code is None else {"exit_code": exit_code})
    (entry,) = read_models({"data": [{"id": "b", "status": status}]}) or ()
    assert entry.state == state
