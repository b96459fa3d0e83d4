"""Cases from the field: keys, addresses, servers that hang, drop or are gone."""

from __future__ import annotations

import dataclasses
import json
import logging
import shutil
import socket
import ssl
import subprocess
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from slotview.engine.backend import BackendError, FireRequest, SlotAction
from slotview.engine.events import Notice
from slotview.engine.observe.meaning import pool_meaning, waiting_meaning
from slotview.engine.remote.backend import RemoteBackend
from slotview.engine.remote.http.address import parse_address
from slotview.engine.remote.http.credentials import NOBODY
from slotview.engine.remote.http.wire import Wire
from slotview.engine.remote.once import ExitCode, snapshot_once
from slotview.engine.snapshot import EndpointState, HealthState, Snapshot
from tests.engine.remote.recorded import (
    IMPATIENT,
    first_look,
    has_looked,
    healthy,
    impatient,
    in_state,
    metrics,
    recorded,
    slot,
    text,
    watching,
)
from tests.fake_server import FakeServer, Reply, Request, Route, Routes, error_reply, json_reply, refusing_port

HANG = Reply(hang=True)


def test_c31_a_server_that_answers_nothing_is_not_called_down() -> None:
    """All its HTTP threads hold waiting requests, then it works again."""
    routes = healthy(json_reply([slot(decoded=3)]))
    with FakeServer(routes) as server, impatient(server) as backend:
        before = backend.wait_until(has_looked, 5)
        server.routes = {}
        server.default = HANG
        gone = backend.wait_until(in_state(HealthState.NO_ANSWER), 12)
        assert gone.health.state is HealthState.NO_ANSWER
        assert gone.health.message.startswith("not answering for")
        assert gone.slots == before.slots
        assert gone.age is not None
        assert gone.age > 0.5
        assert max(server.most_open.values()) == 1
        server.routes = routes
        assert backend.wait_until(in_state(HealthState.OK), 12).health.state is HealthState.OK
        texts = [event.text for event in backend.events(0).events if isinstance(event, Notice)]
    assert texts[0].startswith("connection lost")
    assert texts[1].startswith("reconnected after")


def test_c31_a_machine_that_takes_no_connection_is_not_called_busy() -> None:
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)  # as from a firewall, nothing comes back
        for taken in (first, second):
            taken.setblocking(False)
            taken.connect_ex(full.getsockname())
        found, code = snapshot_once(f"127.0.0.1:{full.getsockname()[1]}", patience=IMPATIENT)
    assert (code, found["health"]["state"]) == (ExitCode.UNREACHABLE, "no answer")
    assert found["health"]["message"].startswith("no connection to 127.0.0.1")
    assert "machine on" in found["health"]["advice"]


def test_c31_a_slow_line_is_no_silent_server() -> None:
    replies = {path: reply for path, reply in healthy().items() if isinstance(reply, Reply)}
    slow: Routes = {path: dataclasses.replace(reply, delay=0.4) for path, reply in replies.items()}
    patience = replace(IMPATIENT, direct=4.0, overdue=0.2)
    with FakeServer(slow) as server, watching(server, metrics_every=0, patience=patience) as backend:
        backend.wait_until(lambda seen: seen.slots is not None, 5)
        end = time.monotonic() + 2.5
        while time.monotonic() < end:
            assert backend.latest().health.state is HealthState.OK
            time.sleep(0.02)
        assert len(server.asked("/props")) > 2


@pytest.mark.parametrize(
    ("build", "words"),
    [("b11434-0123abcd", "alive but not scheduling for"), ("b9000-0123abcd", "a long prompt, or stuck")],
)
def test_c53_health_answers_and_slots_hang(build: str, words: str) -> None:
    props = json_reply({"build_info": build, "total_slots": 1, "default_generation_settings": {"n_ctx": 1024}})
    slots = [json_reply([slot(decoded=3)]), HANG]
    with FakeServer(healthy(slots, props=props)) as server, impatient(server) as backend:
        snapshot = backend.wait_until(in_state(HealthState.STALLED), 8)
        assert snapshot.health.state is HealthState.STALLED
        assert words in snapshot.health.message
        assert snapshot.slots is not None
        assert snapshot.slots[0].n_decoded == 3
        begin = time.monotonic()
        backend.latest()
        backend.look_now()
        assert time.monotonic() - begin < 0.4
        assert server.most_open["/slots"] == 1
        begin = time.monotonic()
    assert time.monotonic() - begin < 2  # closing does not wait for the answer


@pytest.mark.parametrize(
    ("reply", "state"),
    [
        (recorded("health_loading_503"), HealthState.LOADING),
        (text("<html><title>502 Bad Gateway</title>", 502), HealthState.NO_ANSWER),
    ],
)
def test_c53_a_server_that_is_replaced_while_slots_hang_is_not_called_stuck(reply: Reply, state: HealthState) -> None:
    props = json_reply({"build_info": "b11434-0123abcd", "total_slots": 1})
    slots = [json_reply([slot(decoded=3)]), HANG]
    with FakeServer(healthy(slots, props=props)) as server, impatient(server) as backend:
        backend.wait_until(has_looked, 5)
        server.wait_for("/slots", 2)
        server.routes |= dict.fromkeys(("/props", "/health"), reply)
        assert backend.wait_until(in_state(state), 8).health.state is state


def test_c53_an_answer_that_takes_long_to_arrive_is_no_stuck_server() -> None:
    content = json_reply([slot(decoded=3)]).body
    dripping = Reply(parts=[content[at : at + 1] for at in range(len(content))], gap=0.2)
    slots = [json_reply([slot(decoded=3)]), dripping]
    props = json_reply({"build_info": "b11434-0123abcd", "total_slots": 1})
    with (
        FakeServer(healthy(slots, props=props)) as server,
        impatient(server, patience=replace(IMPATIENT, queued=1.0)) as backend,
    ):
        slow = backend.wait_until(lambda seen: "arriving" in seen.health.message, 8)
        assert slow.health.state is HealthState.OK
        assert slow.age is not None
        assert slow.age > 0.5
        given_up = backend.wait_until(in_state(HealthState.ERROR), 8)
    assert given_up.health.message == "/slots: the answer trickles in too slowly"
    assert given_up.slots is not None


def locked(routes: Routes, key: str) -> Routes:
    """All endpoints but /health behind a key."""

    def guard(reply: Route) -> Route:
        def answer(request: Request) -> Reply:
            given = request.headers.get("authorization")
            assert isinstance(reply, Reply)
            return reply if given == f"Bearer {key}" else recorded("slots_no_key_401")

        return answer

    return {path: reply if path == "/health" else guard(reply) for path, reply in routes.items()}


def test_c92_no_key() -> None:
    with FakeServer(locked(healthy(recorded("slots_off_501")), "k1")) as server, impatient(server) as backend:
        snapshot = backend.wait_until(in_state(HealthState.KEY), 5)
        assert len(server.asked("/slots")) == 1  # it may be open where /props is not
    assert snapshot.health.message == "API key needed"
    assert "--api-key" in snapshot.health.advice


KEY, PASSWORD, PACKED = "k-very-secret", "hunter2-é", "bWU6aHVudGVyMi3DqQ=="


@pytest.mark.parametrize("status", [401, 500])
@pytest.mark.parametrize(
    ("login", "key", "secrets"),
    [
        ("", KEY, [KEY]),
        (f"me:{PASSWORD}@", None, [PASSWORD, PACKED]),
        (f"me:{PASSWORD}@", KEY, [KEY, PASSWORD, PACKED]),
    ],
)
def test_c92_a_server_that_quotes_what_it_was_sent_shows_no_secret(
    login: str, key: str | None, secrets: list[str], status: int
) -> None:
    def echo(request: Request) -> Reply:
        sent = [request.headers.get(name) for name in ("authorization", "x-api-key")]
        return error_reply(status, f"not {sent}, that is {login[:-1]} or {key}; bye")

    routes = healthy(json_reply([slot()])) | {"/completion": echo, "/slots/0": echo}
    with FakeServer(routes) as server, impatient(server.url.replace("//", f"//{login}"), api_key=key) as backend:
        backend.wait_until(has_looked, 5)
        (ticket,) = backend.submit(FireRequest("x"))
        backend.wait_until(lambda _: ticket.view().state.is_over, 5)
        with pytest.raises(BackendError, match="refused") as refused:
            backend.slot_action(SlotAction.ERASE, 0).result(5)
        server.routes = dict.fromkeys(routes, echo)
        found, _ = snapshot_once(server.url.replace("//", f"//{login}"), api_key=key)
    for told in (str(ticket.view().finish), str(refused.value), json.dumps(found, ensure_ascii=False)):
        assert "bye" in told
        assert not [secret for secret in secrets if secret in told]


@pytest.mark.parametrize("strips", [True, False])
@pytest.mark.parametrize(
    ("login", "key", "told"),
    [
        ("", None, "user and password needed"),
        ("", "k1", "user and password needed"),
        ("me:no@", None, "the user or the password is wrong"),
        ("me:it@", None, "API key needed"),
        ("me:it@", "k1", ""),
        ("me:it@", "k2", "the API key is wrong, or hidden by the password that a proxy passes on"),
    ],
)
def test_c92_a_proxy_wants_a_password_and_the_server_a_key(
    login: str, key: str | None, told: str, strips: bool
) -> None:
    wants_password = Reply(b"", 401, headers={"WWW-Authenticate": 'Basic realm="x"'})

    def guard(reply: Route) -> Route:
        def answer(request: Request) -> Reply:
            if request.headers.get("authorization") != "Basic bWU6aXQ=":
                return wants_password
            assert isinstance(reply, Reply)
            is_seen = strips and request.headers.get("x-api-key") == "k1"  # the server looks at Authorization first
            return reply if is_seen else recorded("slots_no_key_401")

        return answer

    with FakeServer({path: guard(reply) for path, reply in healthy().items()}) as server:
        found, code = snapshot_once(server.url.replace("//", f"//{login}"), api_key=key)
    if told or strips:
        assert (code, found["health"]["message"]) == (ExitCode.KEY if told else ExitCode.RIGHT, told)
    else:
        assert "hidden by the password" in found["health"]["message"]


def test_c92_wrong_key_is_shown_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    secret = "k-very-secret"
    with FakeServer(locked(healthy(), "k1")) as server, impatient(server, api_key=secret) as backend:
        snapshot = backend.wait_until(in_state(HealthState.KEY), 5)
        told = repr(backend) + repr(vars(backend)) + repr(snapshot) + caplog.text + str(backend.capabilities)
        told += str(backend.preview(backend.flags).command)
    assert snapshot.health.message == "the API key is wrong"
    assert secret not in told


def test_c92_the_right_key_uncovers_that_slots_are_off() -> None:
    routes = locked(healthy(recorded("slots_off_501"), props=recorded("props_slots_off")), "k1")
    with FakeServer(routes) as server, impatient(server, api_key="k1\n") as backend:
        snapshot = backend.wait_until(in_state(HealthState.NOTHING), 5)
    assert snapshot.facts.endpoints["slots"].state is EndpointState.OFF


def test_c93_refused_then_loading_then_key() -> None:
    port = refusing_port()
    with impatient(f"http://127.0.0.1:{port}") as backend:
        refused = backend.wait_until(in_state(HealthState.REFUSED), 5)
        assert refused.health.message == f"connection refused by 127.0.0.1:{port}"
        assert "again" not in (refused.health.advice or "")  # a single look does not ask again
        assert refused.poll is not None
        assert refused.poll.note.startswith("asking again")
        with FakeServer({}, default=recorded("health_loading_503"), port=port) as server:
            assert backend.wait_until(in_state(HealthState.LOADING), 5).health.state is HealthState.LOADING
            server.routes, server.default = {"/health": recorded("health_ok")}, recorded("slots_no_key_401")
            assert backend.wait_until(in_state(HealthState.KEY), 5).health.state is HealthState.KEY
            server.routes = healthy(json_reply([slot()]))
            backend.look_now()
            assert backend.wait_until(in_state(HealthState.OK), 5).health.state is HealthState.OK


@pytest.mark.parametrize("path", ["/llm", "/llm/", "/llm/v1", "/llm/v1/chat/completions", "/llm/slots"])
def test_c95_mounted_under_a_prefix(path: str) -> None:
    routes = {f"/llm{route}": reply for route, reply in healthy(json_reply([slot()])).items()}
    with FakeServer(routes) as server, impatient(server.url + path) as backend:
        snapshot = backend.wait_until(has_looked, 5)
        assert snapshot.facts.source == f"{server.url}/llm"
    assert snapshot.busy == 1


def test_c98_the_first_word_comes_at_once() -> None:
    begin = time.monotonic()
    with impatient(f"127.0.0.1:{refusing_port()}") as backend:
        assert backend.wait_until(in_state(HealthState.REFUSED), 5).health.state is HealthState.REFUSED
        assert time.monotonic() - begin < 1


def test_c121_a_dropped_kept_alive_connection_is_not_noticed() -> None:
    slots = [json_reply([slot(decoded=1)]), Reply(drop=True), json_reply([slot(decoded=2)])]
    states: list[HealthState] = []

    def seen(snapshot: Snapshot) -> bool:
        states.append(snapshot.health.state)
        return bool(snapshot.slots and snapshot.slots[0].n_decoded == 2)

    with FakeServer(healthy(slots)) as server, impatient(server) as backend:
        assert seen(backend.wait_until(seen, 5))
        assert not [event for event in backend.events(0).events if isinstance(event, Notice)]
    assert set(states) <= {HealthState.CONNECTING, HealthState.OK}


def test_c121_connections_end_after_some_answers_or_idle_seconds() -> None:
    rows = json_reply([slot(decoded=1)])
    with (
        FakeServer(healthy(rows), max_requests=3, idle_seconds=0.15) as server,
        impatient(server, interval=0.1) as backend,
    ):
        server.wait_for("/slots", 12)
        snapshot = backend.latest()
        assert server.connections > 4
        assert not backend.events(0).dropped
        assert not [event for event in backend.events(0).events if isinstance(event, Notice)]
    assert snapshot.health.state is HealthState.OK


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="only Linux gives up a silent connection so soon")
def test_c121_a_kept_connection_that_died_unseen_is_given_up_within_seconds() -> None:
    with FakeServer(healthy()) as server:
        wire = Wire(parse_address(server.url), NOBODY)
        assert wire.get("/slots", {}, 5.0).status == 200
        (kept,) = wire._sockets._sockets
        assert 0 < kept.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) < 6000
        assert kept.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        wire.close()
        wire.dispose()


def test_c53_an_answer_that_stops_in_the_middle_is_told_from_none() -> None:
    with FakeServer({"/slots": Reply(parts=[b"[", b"]"], gap=30), "/props": HANG}) as server:
        wire = Wire(parse_address(server.url), NOBODY)
        answers = [wire.get(path, {}, 0.2) for path in ("/slots", "/props")]
        wire.close()
        wire.dispose()
    assert answers[0].message == "the answer stopped in the middle"
    assert answers[1].message != answers[0].message


def test_c121_twice_dropped_is_an_error_of_that_endpoint() -> None:
    slots = [json_reply([slot()]), Reply(drop=True), Reply(drop=True), json_reply([slot(decoded=5)])]
    with FakeServer(healthy(slots)) as server, impatient(server) as backend:
        failed = backend.wait_until(lambda s: s.facts.endpoints["slots"].state is EndpointState.NO_ANSWER, 5)
        assert failed.facts.endpoints["slots"].state is EndpointState.NO_ANSWER
        after = backend.wait_until(lambda s: bool(s.slots and s.slots[0].n_decoded == 5), 5)
    assert after.health.state is HealthState.OK


def test_c121_a_request_is_never_sent_twice() -> None:
    for reply in (Reply(drop=True), Reply(parts=[b'data: {"content":"a","tokens_predicted":1}\n\n'], cut=True)):
        with FakeServer(healthy(completion=reply)) as server, impatient(server) as backend:
            backend.wait_until(has_looked, 5)
            (ticket,) = backend.submit(FireRequest("hello"))
            while not ticket.view().state.is_over:
                server.wait_for("/completion")
            assert ticket.view().state == "failed"
            assert len(server.asked("/completion")) == 1


def test_a_lost_server_leaves_its_last_data() -> None:
    routes = healthy(json_reply([slot(decoded=4)]), metrics=metrics(requests_deferred=3))
    with FakeServer(routes) as server, impatient(server) as backend:
        backend.wait_until(has_looked, 5)
        server.stop()
        snapshot = backend.wait_until(in_state(HealthState.REFUSED), 5)
        assert snapshot.waiting.count == 3
        assert snapshot.slots is not None
        assert snapshot.slots[0].n_decoded == 4
        with FakeServer(healthy(json_reply([slot(task=1, decoded=1)])), port=server.port):
            again = backend.wait_until(lambda s: bool(s.slots and s.slots[0].task == 1), 9)
    assert again.health.state is HealthState.OK


def test_another_program_on_the_port_is_recognised_soon() -> None:
    with FakeServer(healthy(json_reply([slot(decoded=4)]))) as server, impatient(server) as backend:
        backend.wait_until(has_looked, 5)
        server.routes, server.default = {}, Reply(b"<!doctype html><title>Other</title>", content_type="text/html")
        health = backend.wait_until(in_state(HealthState.FOREIGN), 5).health
    assert health.message == "this is not a llama-server: it answers with a web page instead of JSON: Other"


def test_a_server_that_was_never_reached_tells_and_withholds_nothing() -> None:
    with impatient(f"http://127.0.0.1:{refusing_port()}") as backend:
        snapshot = backend.wait_until(in_state(HealthState.REFUSED), 5)
    assert pool_meaning(snapshot.pool) == "unknown (no answer so far)"
    assert waiting_meaning(snapshot.waiting, snapshot.busy, None) == "unknown (no answer so far)"


def test_a_proxy_without_its_server() -> None:
    with FakeServer({}, default=text("Bad Gateway", 502)) as server, impatient(server) as backend:
        snapshot = backend.wait_until(in_state(HealthState.NO_ANSWER), 5)
    assert snapshot.health.message == "no answer from the server behind the proxy (502 Bad Gateway)"


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="no unix sockets on this system")
@pytest.mark.parametrize("prefix", ["", "/llm"])
def test_a_unix_socket(prefix: str, tmp_path: Path) -> None:
    path = tmp_path / "llama.sock"
    routes = {f"{prefix}{route}": reply for route, reply in healthy(json_reply([slot()])).items()}
    with FakeServer(routes, socket_path=path) as server, impatient(f"{server.url}{prefix}/v1") as backend:
        snapshot = backend.wait_until(has_looked, 5)
    assert snapshot.facts.source == f"unix://{path}{prefix}"
    assert snapshot.busy == 1


@pytest.mark.parametrize("huge", [Reply(b" " * 9_000_000), Reply(parts=[b" " * 1_000_000] * 9)])
def test_an_answer_over_the_limit_is_not_read(huge: Reply) -> None:
    with FakeServer(healthy(huge)) as server, impatient(server) as backend:
        snapshot = backend.wait_until(lambda s: s.health.state is HealthState.ERROR, 5)
    assert "answer over 8 MB" in snapshot.health.message
    assert snapshot.facts.endpoints["slots"].state is EndpointState.TOO_LARGE


def test_a_key_that_no_header_carries_is_refused_without_showing_it() -> None:
    with pytest.raises(ValueError, match="characters that no header can carry") as caught:
        RemoteBackend("localhost", api_key="schlüssel")
    assert "schlüssel" not in str(caught.value)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate that this machine signed itself, and its key, in one file."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl to make a certificate with")
    path = str(tmp_path_factory.mktemp("tls") / "cert.pem")
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", path, "-out", path, *names]
    subprocess.run(command, check=True, capture_output=True)
    return Path(path)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # httpcore leaves closing to refcounts
def test_a_certificate_that_nobody_vouches_for(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    with FakeServer(healthy(json_reply([slot()])), tls=tls) as server:
        with impatient(server) as backend:
            health = backend.wait_until(in_state(HealthState.ERROR), 5).health
            assert health.message.startswith("no secure connection: certificate verify failed: self")
            assert "SSL_CERT_FILE=cert.pem" in health.advice
        with impatient(server.url.replace("https", "http")) as backend:
            health = backend.wait_until(in_state(HealthState.NO_ANSWER), 5).health
            assert "if the server speaks TLS, give https://" in health.advice
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert first_look(server).busy == 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # httpcore leaves closing to refcounts
def test_a_server_that_wants_a_client_certificate(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    tls.load_verify_locations(certificate)
    tls.verify_mode = ssl.CERT_REQUIRED
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with FakeServer(healthy(), tls=tls) as server:
        found, code = snapshot_once(server.url)
    assert (code, found["health"]["state"]) == (ExitCode.UNREACHABLE, "error")
    assert found["health"]["message"].endswith("alert certificate required")
    assert "client certificate is wanted" in found["health"]["advice"]


@pytest.mark.parametrize("named", ["no/such.pem", ".", "junk.pem"])
def test_a_certificate_file_that_is_none(named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "junk.pem").write_text("junk")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / named))
    found, code = snapshot_once("https://127.0.0.1:1")
    assert (code, found["health"]["message"]) == (
        ExitCode.UNREACHABLE,
        "no secure connection: SSL_CERT_FILE names no certificate file",
    )


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), -1.0])
def test_an_interval_that_is_none_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="a number of seconds"):
        RemoteBackend("localhost", interval=seconds)
    with pytest.raises(ValueError, match="a number of seconds"):
        RemoteBackend("localhost", metrics_every=seconds)


def test_a_host_that_cannot_be_asked_is_named() -> None:
    with impatient("http://\u2603.com") as backend:
        snapshot = backend.wait_until(in_state(HealthState.ERROR), 5)
    assert snapshot.health.message.startswith("\u2603.com cannot be asked: ")


def test_an_error_of_500_is_told_as_it_is() -> None:
    broken = error_reply(500, "something broke", "server_error")
    with FakeServer(healthy(broken)) as server, impatient(server) as backend:
        snapshot = backend.wait_until(in_state(HealthState.ERROR), 5)
    assert "something broke" in snapshot.health.message
