"""What nginx, HAProxy, Apache, Caddy and Varnish really send, replayed: would an operator know what to do?"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import count

import pytest

from slotview.engine.backend import BackendError, FireRequest, RequestState, SlotAction
from slotview.engine.remote.http.answer import Answer
from slotview.engine.remote.http.retry_after import pause_of
from slotview.engine.remote.once import ExitCode, snapshot_once
from slotview.engine.remote.patience import PATIENT
from slotview.engine.remote.picture import picture
from slotview.engine.remote.verdict.word import judge
from slotview.engine.snapshot import Health, HealthState
from tests.engine.remote.recorded import body, has_looked, healthy, in_state, recorded, slot, watching
from tests.engine.remote.simulated import Server, Simulation
from tests.fake_server import NOT_FOUND, FakeServer, Reply, Request, Routes, json_reply


def sent(head: str, body: str | bytes = b"") -> Reply:
    """An answer as it came over the wire, without what differs from one to the next."""
    content = body.encode() if isinstance(body, str) else body
    lines = "\r\n".join([*head.splitlines(), f"Content-Length: {len(content)}", "Connection: close", "", ""])
    return Reply(raw=lines.encode() + content)


def nginx_page(title: str) -> str:
    """An error page of nginx 1.22."""
    name = f"<html>\r\n<head><title>400 {title}</title></head>\r\n<body>\r\n<center><h1>400 Bad Request</h1></center>"
    return f"{name}\r\n<center>{title}</center>\r\n<hr><center>nginx/1.22.1</center>\r\n</body>\r\n</html>\r\n"


HTML = "Content-Type: text/html"
HAPROXY_503 = sent(
    f"HTTP/1.1 503 Service Unavailable\ncache-control: no-cache\n{HTML}",
    "<html><body><h1>503 Service Unavailable</h1>\nNo server is available to handle this request.\n</body></html>\n",
)
HAPROXY_403 = sent(
    f"HTTP/1.1 403 Forbidden\ncache-control: no-cache\n{HTML}",
    "<html><body><h1>403 Forbidden</h1>\nRequest forbidden by administrative rules.\n</body></html>\n",
)
CADDY_502 = sent("HTTP/1.1 502 Bad Gateway\nServer: Caddy")
NGINX_TLS = sent(f"HTTP/1.1 400 Bad Request\n{HTML}", nginx_page("The plain HTTP request was sent to HTTPS port"))
NGINX_CERTIFICATE = sent(f"HTTP/1.1 400 Bad Request\n{HTML}", nginx_page("No required SSL certificate was sent"))
CADDY_TLS = Reply(raw=b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n")
APACHE_TLS = sent(
    f"HTTP/1.1 400 Bad Request\nServer: Apache/2.4.71 (Debian) OpenSSL/3.0.19\n{HTML}; charset=iso-8859-1",
    '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN" "http://www.w3.org/TR/html4/strict.dtd">\n'
    "<html><head>\n<title>400 Bad Request</title>\n</head><body>\n<h1>Bad Request</h1>\n"
    "<p>Your browser sent a request that this server could not understand.<br />\n"
    "Reason: You're speaking plain HTTP to an SSL-enabled server port.<br />\n"
    " Instead use the HTTPS scheme to access this URL, please.<br />\n</p>\n</body></html>\n",
)
APACHE_DIGEST = sent(
    'HTTP/1.1 401 Unauthorized\nWWW-Authenticate: Digest realm="llama", nonce="L5E0qIJhBgA=0183", algorithm=MD5, '
    f'qop="auth"\n{HTML}',
    "<html><head>\n<title>401 Unauthorized</title>\n</head><body>\n<h1>Unauthorized</h1>\n</body></html>\n",
)
APACHE_BROTLI = sent(
    "HTTP/1.1 200 OK\nContent-Type: application/json\nVary: Accept-Encoding\nContent-Encoding: br",
    b'\x03\x07\x80{"status":"ok"}\x03',
)
LOGIN = sent(f"HTTP/1.1 200 OK\n{HTML}", "<!doctype html><html><head><title>Sign in - SSO</title></head></html>")


@pytest.mark.parametrize(
    ("routes", "default", "code", "words"),
    [
        ({}, HAPROXY_503, ExitCode.UNREACHABLE, "behind the proxy (503 Service Unavailable) | is llama-server running"),
        ({}, CADDY_502, ExitCode.UNREACHABLE, "behind the proxy (502 Bad Gateway) | is llama-server running"),
        (healthy(HAPROXY_403), NOT_FOUND, ExitCode.KEY, "to /slots refused (403 Forbidden) | a proxy forbids it"),
        ({}, NGINX_TLS, ExitCode.FOREIGN, "sent to HTTPS port | give https:// in place of http://"),
        ({}, APACHE_TLS, ExitCode.FOREIGN, "400 Bad Request | give https:// in place of http://"),
        ({}, CADDY_TLS, ExitCode.FOREIGN, "to an HTTPS server. | give https:// in place of http://"),
        ({}, NGINX_CERTIFICATE, ExitCode.FOREIGN, "| a proxy wants a client certificate, which slotview does not send"),
        ({}, APACHE_DIGEST, ExitCode.KEY, "a proxy asks for a login by digest, which slotview does not speak"),
        ({}, APACHE_BROTLI, ExitCode.FOREIGN, "an answer compressed with br, unasked"),
        ({}, LOGIN, ExitCode.FOREIGN, "a web page instead of JSON: Sign in - SSO"),
        ({}, NOT_FOUND, ExitCode.FOREIGN, "under this path (404 File Not Found) | check the path before /slots"),
    ],
)  # fmt: skip
def test_what_a_proxy_says_tells_an_operator_what_to_do(
    routes: Routes, default: Reply, code: ExitCode, words: str
) -> None:
    with FakeServer(routes, default=default) as server:
        found, exit_code = snapshot_once(server.url)
    health = found["health"]
    assert words in f"{health['message']} | {health['advice']}"
    assert exit_code is code


def test_a_tunnel_whose_server_ended_is_not_called_busy() -> None:
    """As ssh -L, stunnel and HAProxy in TCP mode do: they take the connection, find nobody, and close it."""
    with FakeServer(healthy()) as server, watching(server) as backend:
        backend.wait_until(in_state(HealthState.OK), 5)
        server.routes, server.default = {}, Reply(drop=True)
        health = backend.wait_until(in_state(HealthState.NO_ANSWER), 5).health
    assert health.message.endswith("accepts the connection and closes it without an answer")
    assert health.advice == "behind a tunnel or a container's port: is llama-server running there?"


@pytest.mark.parametrize(
    ("when", "seconds"),
    [
        ("7", 7.0),
        ("Mon, 30 Nov 2026 18:34:35 GMT", 20.0),
        ("Mon, 30 Nov 2026 18:34:05 GMT", 0.0),
        ("Wed, 21 Oct 2037 07:28:00 GMT", 3600.0),
        ("999999999999", 3600.0),
        ("soon", None),
        ("", None),
        ("-5", None),
        ("Mon, 99 Nov 2026 18:34:35 GMT", None),
    ],
)
def test_a_pause_is_asked_for_in_seconds_or_until_a_date(when: str, seconds: float | None) -> None:
    assert pause_of(when, "Mon, 30 Nov 2026 18:34:15 GMT") == seconds


# What a proxy does over time


def ailing(says: Reply, whenever: Callable[[float], bool]) -> Server:
    """A healthy server behind a proxy that answers in its place ``whenever``."""
    routes = healthy(json_reply([slot(decoded=3)]))

    def answer(path: str, _params: dict[str, str], now: float) -> Reply:
        reply = says if whenever(now) else routes.get(path, NOT_FOUND)
        assert isinstance(reply, Reply)
        return reply

    return answer


def verdict(simulation: Simulation) -> Health:
    return judge(simulation.known, "h", now=simulation.now)


def test_a_proxy_without_its_server_is_asked_less_and_less_often() -> None:
    simulation = Simulation(ailing(Reply(b"", 502), lambda now: 10 <= now < 600))
    simulation.run(100)
    assert verdict(simulation).message == "no answer from the server behind the proxy (502 Bad Gateway)"
    poll = picture(simulation.known, "", verdict(simulation), simulation.now, 0).poll
    assert poll is not None
    assert poll.note.startswith("not asking again for")
    asked = [when for when, _, _ in simulation.asked if when > 40]
    assert len(asked) <= 2 * 60 / 8 + 2
    simulation.run(520)
    assert verdict(simulation).state is HealthState.OK
    assert simulation.times("/slots")[-1] > 610


def test_a_limit_on_requests_that_nginx_answers_with_503_is_not_called_a_missing_server() -> None:
    """``limit_req`` of one request a second, with the status it has by default."""
    last = [-1.0]

    def is_over(now: float) -> bool:
        if now - last[0] < 1:
            return True
        last[0] = now
        return False

    simulation = Simulation(ailing(Reply(b"<html><title>503 Service Temporarily Unavailable</title>", 503), is_over))
    told: Counter[str] = Counter()
    for _ in range(60):
        simulation.run(1)
        told[verdict(simulation).message] += 1
    assert not [text for text in told if "server behind the proxy" in text]
    assert told[""] > 20
    assert len(simulation.times("/slots")) > 30
    assert simulation.busiest_second(since=10) <= 3


def test_a_proxy_that_does_not_wait_for_a_stuck_server_says_so_in_other_words() -> None:
    routes = healthy([json_reply([slot(decoded=3)]), Reply(b"<h1>504 Gateway Time-out</h1>", 504)])
    with FakeServer(routes) as server, watching(server) as backend:
        stuck = backend.wait_until(in_state(HealthState.STALLED), 5)
    assert stuck.health.message.startswith("alive but not scheduling")


@pytest.mark.parametrize(("age", "state"), [(5, HealthState.OK), (300, HealthState.ERROR)])
def test_a_cache_that_answers_in_place_of_the_server_is_not_taken_for_it(age: int, state: HealthState) -> None:
    """Varnish and Squid say how old their answers are, also long after the server ended."""
    headers = {"Via": "1.1 varnish (Varnish/7.1)", "Age": str(age)}
    kept = {path: replace(reply, headers=headers) for path, reply in healthy().items() if isinstance(reply, Reply)}
    with FakeServer(dict(kept)) as server, watching(server) as backend:
        seen = backend.wait_until(has_looked, 5)
    assert seen.health.state is state
    assert seen.health.message.startswith("a cache on the way answers in place of the server")
    assert seen.age is not None
    assert seen.age >= age


def test_the_same_answer_of_a_cache_is_no_new_look() -> None:
    """Else a slot that nobody has looked at again seems to stand still."""
    bodies = [json_reply([slot(decoded=count)]).body for count in (10, 30)]

    def cached(path: str, _params: dict[str, str], now: float) -> Reply | Answer:
        if path != "/slots":
            reply = healthy().get(path, NOT_FOUND)
            assert isinstance(reply, Reply)
            return reply
        return Answer(200, bodies[now >= 8], age=float(int(now % 8)))

    simulation = Simulation(cached)
    looks = []
    for _ in range(14):
        simulation.run(1)
        looks.append(simulation.known.slots_at)
    assert len(set(looks)) == 2


def test_all_connections_go_where_a_load_balancer_sent_the_first() -> None:
    """HAProxy's ``cookie SRV insert``: without it, each connection may be sent to another server."""
    servers = iter("abcdefgh")

    def sticky(reply: Reply) -> Callable[[Request], Reply]:
        def answer(request: Request) -> Reply:
            known = request.headers.get("cookie")
            return reply if known else replace(reply, headers={"Set-Cookie": f"SRV={next(servers)}; path=/"})

        return answer

    routes = healthy(completion=recorded("completion_stream"))
    paths = {path: sticky(reply) for path, reply in routes.items() if isinstance(reply, Reply)}
    with FakeServer(dict(paths)) as server, watching(server) as backend:
        backend.wait_until(has_looked, 5)
        backend.submit(FireRequest("hello", n_predict=4))
        server.wait_for("/completion")
        told = [request.headers.get("cookie") for request in server.requests]
    assert told[0] is None
    assert set(told[1:]) == {"SRV=a"}


def test_a_proxy_that_holds_an_answer_back_does_not_make_it_wait_for_a_slot() -> None:
    """lighttpd with ``server.stream-response-body = 0``: all of it comes when it has ended."""
    end = {"content": "", "stop": True, "stop_type": "limit", "id_slot": 1, "tokens_predicted": 4}
    end["timings"] = {"prompt_ms": 100.0, "predicted_ms": 500.0, "predicted_per_second": 8.0}
    stream = Reply(f"data: {json.dumps(end)}\n\n".encode(), content_type="text/event-stream", delay=0.8)
    with FakeServer(healthy(completion=stream)) as server, watching(server) as backend:
        backend.wait_until(has_looked, 5)
        (ticket,) = backend.submit(FireRequest("hello", n_predict=4))
        backend.wait_until(lambda _: ticket.view().state.is_over, 5)
    view = ticket.view()
    assert view.state is RequestState.DONE
    assert view.queue_wait is not None
    assert 0.1 < view.queue_wait < 0.5


def test_a_server_that_is_gone_for_hours_is_asked_at_the_longest_gap() -> None:
    assert [PATIENT.doubled(times) for times in (0, 1, 4, 5, 2000)] == [0.5, 1, 8, 8, 8]


def test_litellm_is_told_by_its_first_word() -> None:
    """Its /health sends a prompt to each of its models, which costs money."""
    not_found = json_reply({"detail": "Not Found"}, 404)
    simulation = Simulation(lambda path, _params, _now: json_reply({}) if path == "/health" else not_found)
    simulation.run(30)
    assert verdict(simulation).message == "this is not a llama-server: it answers with 404 Not Found"
    assert not simulation.times("/health")
    assert len(simulation.times("/props")) <= 7


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (HAPROXY_503, "unknown (/metrics: 503 Service Unavailable)"),
        (HAPROXY_403, "unknown (/metrics: 403 Forbidden)"),
        (
            sent('HTTP/1.1 401 Unauthorized\nWWW-Authenticate: Basic realm="x"'),
            "unknown (/metrics: 401 Unauthorized)",
        ),
        (sent("HTTP/1.1 401 Unauthorized"), "unknown (/metrics needs the API key)"),
    ],
)
def test_counters_that_a_proxy_withholds_are_not_said_to_need_a_key(reply: Reply, why: str) -> None:
    with FakeServer(healthy(metrics=reply)) as server:
        found, code = snapshot_once(server.url)
    assert (code, found["waiting"]["count"], found["waiting"]["why"]) == (ExitCode.RIGHT, None, why)


def test_no_slot_is_emptied_on_whichever_server_comes_next() -> None:
    turns = count()
    marks = [json_reply({**body("props"), "media_marker": mark}) for mark in "ab"]
    routes = healthy(props=lambda _: marks[next(turns) % 2]) | {"/slots/0": json_reply({"id_slot": 0, "n_erased": 1})}
    with FakeServer(routes) as server, watching(server) as backend:
        backend.wait_until(in_state(HealthState.ERROR), 5)
        server.wait_for("/slots")
        with pytest.raises(BackendError, match="shows no slot 0"):
            backend.slot_action(SlotAction.ERASE, 0).result(5)
        assert not server.asked("/slots/0")
