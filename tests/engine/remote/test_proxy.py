"""Proxies that the environment names, and connections that cannot be made: who failed is said, and never a secret."""

from __future__ import annotations

import gc
import json

import pytest

from slotview.engine.backend import FireRequest, RequestState
from slotview.engine.remote.once import ExitCode, snapshot_once
from tests.engine.remote.recorded import healthy, watching
from tests.fake_server import FakeServer, Reply, refusing_port

SERVER = "http://llama.invalid:8080"
NAMES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_refuses_is_not_called_the_server(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = f"127.0.0.1:{refusing_port()}"
    monkeypatch.setenv(f"{scheme}_proxy", f"http://user:secret@{proxy}")
    found, code = snapshot_once(f"{scheme}://llama.invalid:8080")
    assert (code, found["health"]["message"]) == (ExitCode.UNREACHABLE, f"connection refused by the proxy {proxy}")
    assert "NO_PROXY" in found["health"]["advice"]
    assert "secret" not in json.dumps(found)


def test_a_server_behind_a_proxy_is_read_through_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeServer(healthy()) as proxy:
        proxy.routes = {f"{SERVER}{path}": reply for path, reply in proxy.routes.items()}
        monkeypatch.setenv("HTTP_PROXY", f"127.0.0.1:{proxy.port}")
        found, code = snapshot_once(SERVER)
    assert (code, len(found["slots"])) == (ExitCode.RIGHT, 4)


@pytest.mark.parametrize("exempt", ["*", ".invalid", "llama.invalid"])
def test_hosts_in_no_proxy_are_asked_themselves(exempt: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{refusing_port()}")
    monkeypatch.setenv("NO_PROXY", exempt)
    found, _ = snapshot_once(SERVER)
    assert found["health"]["message"] == "host name not found: llama.invalid:8080"


def test_this_machine_is_never_asked_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{refusing_port()}")
    with FakeServer(healthy()) as server:
        assert snapshot_once(server.url)[1] is ExitCode.RIGHT


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_wants_a_password_is_not_called_the_server(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wants = Reply(b"", 407, headers={"Proxy-Authenticate": 'Basic realm="x"'})
    with FakeServer({}, default=wants) as proxy:
        monkeypatch.setenv(f"{scheme}_proxy", f"http://127.0.0.1:{proxy.port}")
        found, code = snapshot_once(f"{scheme}://llama.invalid:8080")
    assert code is ExitCode.KEY
    assert found["health"]["message"] == "the proxy on the way wants a user and a password"
    assert "NO_PROXY" in found["health"]["advice"]


def test_a_proxy_that_does_not_reach_the_server_was_asked_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """What mitmproxy and Squid answer to CONNECT."""
    with FakeServer({}, default=Reply(b"", 502)) as proxy:
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.port}")
        found, code = snapshot_once("https://llama.invalid:8080")
    assert code is ExitCode.UNREACHABLE
    assert found["health"]["message"].startswith(f"the proxy 127.0.0.1:{proxy.port} does not reach the server (502")


def test_a_proxy_of_an_unknown_kind_is_one_line_and_no_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    found, code = snapshot_once(SERVER)
    assert code is ExitCode.UNREACHABLE
    assert "SOCKS" in found["health"]["message"]
    with watching(SERVER) as backend:
        ticket = backend.submit(FireRequest("x"))[0]
        backend.wait_until(lambda _: ticket.view().state.is_over, 5)
        assert ticket.view().state is RequestState.FAILED


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # httpcore leaves closing to refcounts
def test_a_unix_socket_that_is_not_there_refused_nobody() -> None:
    missing = "/no/such/llama.sock"
    found, code = snapshot_once(f"unix://{missing}")
    assert (code, found["health"]["state"]) == (ExitCode.UNREACHABLE, "error")
    assert found["health"]["message"] == f"no connection to {missing}: No such file or directory"
    gc.collect()  # the warning belongs here, not to a later test
