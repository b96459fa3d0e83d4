"""Servers and proxies of which one answer is odd, missing or cut: it costs that answer, and the screen says which."""

from __future__ import annotations

import gzip
import time

import pytest

from slotview.engine.remote.once import ExitCode, is_settled, snapshot_once
from slotview.engine.snapshot import EndpointState
from tests.engine.remote.recorded import (
    HTML,
    IMPATIENT,
    first_look,
    from_json,
    healthy,
    impatient,
    metrics,
    recorded,
    slot,
    text,
    watching,
)
from tests.fake_server import NOT_FOUND, FakeServer, Reply, Route, Routes, error_reply, json_reply

SLOTS = json_reply([slot(decoded=5)])
NOT_PACKED = Reply(SLOTS.body, headers={"Content-Encoding": "gzip"})
TOO_LARGE = Reply(b"{" + b" " * 9_000_000 + b"}")
HANG, DROP = Reply(hang=True), Reply(drop=True)
KEY = recorded("slots_no_key_401")
OLLAMA = text("404 page not found", 404)
TLS_ALERT = Reply(raw=b"\x15\x03\x03\x00\x02\x02\x46")
ROUTER = json_reply({"role": "router", "model_path": "none"})
LM_STUDIO = json_reply({"error": "Unexpected endpoint or method. (GET /props)"})


def page(status: int, **headers: str) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(b"<html><title>%d Some Error</title>" % status, status, "text/html", named)


def raw(head: bytes, body: bytes) -> Reply:
    return Reply(raw=b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + head + b"\r\n\r\n" + body)


@pytest.mark.parametrize("endpoint", ["props", "health", "metrics", "v1/models"])
@pytest.mark.parametrize(
    "reply",
    [
        HANG,
        DROP,
        TOO_LARGE,
        NOT_PACKED,
        HTML,
        KEY,
        Reply(b""),
        from_json("[]"),
        from_json("null"),
        page(500),
        page(301),
        NOT_FOUND,
    ],
)
def test_one_endpoint_that_fails_does_not_hide_the_slots(endpoint: str, reply: Reply) -> None:
    with FakeServer(healthy(SLOTS, **{endpoint: reply})) as server:
        found, code = snapshot_once(server.url, patience=IMPATIENT)
    assert (code, found["health"]["state"]) == (ExitCode.RIGHT, "ok")
    assert found["slots"][0]["n_decoded"] == 5


def test_one_look_waits_for_nothing_that_is_not_asked() -> None:
    """Models are not asked for where /props wants a key."""
    with FakeServer(healthy(SLOTS, props=KEY)) as server, watching(server) as backend:
        backend.wait_until(lambda snapshot: snapshot.facts.endpoints["metrics"].state is EndpointState.OK, 8)
        assert is_settled(backend.latest())


@pytest.mark.parametrize("endpoint", ["props", "metrics", "v1/models"])
def test_slots_go_on_beside_an_endpoint_that_hangs(endpoint: str) -> None:
    with FakeServer(healthy(SLOTS, **{endpoint: HANG})) as server, impatient(server) as backend:
        server.wait_for("/slots", 12, seconds=8)
        assert not backend.events(0).dropped
        assert not [event for event in backend.events(0).events if "connection" in getattr(event, "text", "")]
        assert len(server.asked(f"/{endpoint}")) <= 2


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (DROP, "/slots: the connection was dropped"),
        (Reply(parts=[b'[{"id":0,'], cut=True), "/slots: the answer was cut off"),
        (raw(b"Content-Length: 500", SLOTS.body), "/slots: the answer was cut off"),
        (raw(b"Content-Length: 9", SLOTS.body), "/slots is unreadable: no JSON, or cut off (at character 9)"),
        (NOT_PACKED, "/slots is unreadable: an answer that cannot be unpacked"),
        (raw(b"Content-Length: -5", b""), "/slots is unreadable: invalid HTTP (bad content-length)"),
        (raw(b"X: " + b"x" * 200_000, b""), "/slots is unreadable: invalid HTTP (receive buffer too long)"),
        (page(301, Location="https://u:pw@example.org/a?token=1"), "/slots: 301 a redirect to https://example.org/a"),
        (page(502), "/slots: 502 Some Error"),
        (error_reply(429, "slow down"), "asked too often (429 slow down)"),
        (error_reply(500, "boom"), "/slots: 500 boom"),
        (json_reply({"error": "no such thing"}), "/slots is unreadable: no such thing"),
        (from_json("[1, 2, 3]"), "/slots is unreadable: JSON of another kind"),
        (from_json('[{"id":0},{"id":1,"is_processing":null}]'), "/slots is unreadable: JSON of another kind"),
        (from_json("[" * 100_000), "/slots is unreadable: nested too deeply"),
    ],
)  # fmt: skip
def test_unreadable_slots_are_not_called_stuck(reply: Reply, message: str) -> None:
    with FakeServer(healthy(reply)) as server:
        found, code = snapshot_once(server.url)
    assert (code, found["health"]["message"]) == (ExitCode.FAILED, message)
    assert found["slots"] is None


@pytest.mark.parametrize(
    "reply",
    [
        Reply(gzip.compress(SLOTS.body), headers={"Content-Encoding": "gzip"}),
        Reply(b"\xef\xbb\xbf" + SLOTS.body),
        Reply(parts=[SLOTS.body[at : at + 7] for at in range(0, len(SLOTS.body), 7)], gap=0.002),
        json_reply({"slots": [slot(decoded=5)]}),
        from_json('[{"id":"0","is_processing":"true","id_task":"7","next_token":[{"n_decoded":"5"}]}]'),
        from_json('[{"id":0,"id":0,"is_processing":false,"is_processing":true,"next_token":{"n_decoded":5.0}}]'),
    ],
)
def test_unusual_but_readable_slots(reply: Reply) -> None:
    with FakeServer(healthy(reply)) as server:
        slots = first_look(server).slots
    assert slots is not None
    assert (slots[0].id, slots[0].is_busy, slots[0].n_decoded) == (0, True, 5)


@pytest.mark.parametrize(
    ("routes", "default", "code", "words"),
    [
        ({}, LM_STUDIO, ExitCode.FOREIGN, "answers with Unexpected endpoint or method. (GET /props)"),
        ({"/v1/models": json_reply({"data": []})}, OLLAMA, ExitCode.FOREIGN, "404 page not found"),
        ({"/metrics": page(403)}, page(404), ExitCode.FOREIGN, "answers with 404 Some Error"),
        ({"/health": Reply(b"")}, json_reply({"detail": "Not Found"}, 404), ExitCode.FOREIGN, "404 Not Found"),
        ({}, NOT_FOUND, ExitCode.FOREIGN, "the path before /slots"),
        ({}, page(301, Location="https://example.org/"), ExitCode.FOREIGN, "301 a redirect to https://example.org/"),
        ({}, page(302, Location="/login?next=%2Fprops"), ExitCode.FOREIGN, "302 a redirect to /login |"),
        ({}, TLS_ALERT, ExitCode.FOREIGN, "not HTTP | check the port; if the server speaks TLS"),
        ({}, Reply(raw=b"SSH-2.0-OpenSSH_9.2\r\n"), ExitCode.UNREACHABLE, "closes it without an answer | check"),
        ({}, page(502), ExitCode.UNREACHABLE, "behind the proxy (502 Some Error)"),
        ({"/props": ROUTER}, json_reply({"data": None}), ExitCode.FAILED, "not list its models: JSON of another"),
        ({"/props": ROUTER}, page(502), ExitCode.FAILED, "the router does not list its models: 502 Some Error"),
        ({"/props": ROUTER}, KEY, ExitCode.KEY, "API key needed"),
        ({"/props": ROUTER}, json_reply({"data": []}), ExitCode.NO_MODEL, "router with 0 models, none chosen"),
        ({}, page(429), ExitCode.UNREACHABLE, "asked too often (429 Some Error)"),
        ({}, page(403), ExitCode.KEY, "access to /props refused (403 Some Error)"),
        (healthy(page(403)), NOT_FOUND, ExitCode.KEY, "to /slots refused (403 Some Error) | a proxy forbids it"),
        ({}, page(500), ExitCode.FAILED, "/slots: 500 Some Error"),
        ({}, json_reply({"status": "error"}, 500), ExitCode.FAILED, "the server reports an error"),
        ({}, page(401, WWW_Authenticate="Basic realm=x"), ExitCode.KEY, "user and password needed | give"),
    ],
)  # fmt: skip
def test_what_stands_there_instead(routes: Routes, default: Reply, code: ExitCode, words: str) -> None:
    with FakeServer(routes, default=default) as server:
        found, exit_code = snapshot_once(server.url)
    health = found["health"]
    assert exit_code is code
    assert words in f"{health['message']} | {health['advice']}"


@pytest.mark.parametrize("health", [text("OK"), HTML, json_reply([])])
@pytest.mark.parametrize("others", [NOT_FOUND, page(404)])
def test_slots_behind_a_proxy_that_has_a_health_of_its_own_and_hides_the_rest(health: Reply, others: Reply) -> None:
    with FakeServer({"/health": health, "/slots": SLOTS}, default=others) as server:
        found, code = snapshot_once(server.url)
    assert (code, found["busy"]) == (ExitCode.RIGHT, 1)
    with FakeServer({"/health": health, "/slots": KEY}, default=others) as server:
        assert snapshot_once(server.url)[1] is ExitCode.KEY


def test_a_silent_server_is_told_from_one_that_needs_a_moment() -> None:
    begin = time.monotonic()
    with FakeServer({}, default=HANG) as server:
        found, code = snapshot_once(server.url, patience=IMPATIENT)
    assert code is ExitCode.UNREACHABLE
    assert found["health"]["message"].startswith("not answering for")
    assert time.monotonic() - begin < 3


@pytest.mark.parametrize("name", ["requests_deferred", "requests_processing", "n_decode_total"])
@pytest.mark.parametrize("value", ["1e300", "-1e300", "99999999999999999999"])
def test_absurd_counters_are_unknown(name: str, value: str) -> None:
    with FakeServer(healthy(SLOTS, metrics=metrics(tokens_predicted_total=4, **{name: value}))) as server:
        snapshot = first_look(server)
    assert (snapshot.waiting.count, snapshot.totals.processing, snapshot.totals.decodes) == (None, None, None)
    assert snapshot.totals.predicted_tokens == 4


def test_more_busy_slots_than_there_are_is_not_known() -> None:
    counters = metrics(requests_processing=9, n_busy_slots_per_decode=1.5, requests_deferred=1)
    with FakeServer(healthy(json_reply([slot()]), metrics=counters)) as server:
        found, _ = snapshot_once(server.url)
    totals = found["totals"]
    assert (totals["processing"], totals["busy_per_decode"], found["waiting"]["count"]) == (None, None, 1)


def test_half_a_waiting_request_is_not_known() -> None:
    routes = healthy(json_reply([slot()]), metrics=metrics(requests_deferred=2.5, requests_processing=1.5))
    with FakeServer(routes) as server:
        found, _ = snapshot_once(server.url)
    assert (found["waiting"]["count"], found["totals"]["processing"]) == (None, None)


def test_a_server_with_no_slot_at_all_is_not_called_idle() -> None:
    with FakeServer(healthy(json_reply([]))) as server:
        found, code = snapshot_once(server.url)
    assert (code, found["busy"]) == (ExitCode.FAILED, None)
    assert found["health"]["message"] == "/slots is unreadable: an empty list"


def test_slots_of_different_sizes_have_no_common_limit() -> None:
    rows: Route = json_reply([slot(0, n_ctx=1024), slot(1, n_ctx=4096)])
    with FakeServer(healthy(rows)) as server:
        snapshot = first_look(server)
    assert snapshot.facts.n_ctx_slot is None
    assert snapshot.pool.candidates == ()
