"""``--listen``: the face beside the dashboard."""

from __future__ import annotations

import http.client
import socket
from pathlib import Path

import pytest

from slotview.engine.embedded.host import EngineHost
from slotview.engine.embedded.loading import build_core
from slotview.engine.flags import parse_flags
from slotview.engine.pace import microseconds
from slotview.engine.serve.beside import listen_beside, split_address
from slotview.engine.serve.http_server import bind
from tests.engine.stub_model import StubModel

from .face import until


@pytest.mark.parametrize(
    ("text", "found"),
    [("8080", ("127.0.0.1", 8080)), ("0.0.0.0:1", ("0.0.0.0", 1)), ("[::1]:80", ("::1", 80)), (":9", ("127.0.0.1", 9))],
)
def test_addresses(text: str, found: tuple[str, int]) -> None:
    assert split_address(text) == found


@pytest.mark.parametrize("text", ["", "host", "host:", "1:99999", "x:-1", "8080/"])
def test_no_addresses(text: str) -> None:
    with pytest.raises(ValueError, match=r"\[HOST:\]PORT"):
        split_address(text)


def test_a_taken_port_is_told_at_once() -> None:
    with bind("127.0.0.1", 0) as taken, pytest.raises(OSError, match="in use"):
        listen_beside(f"127.0.0.1:{taken.getsockname()[1]}", parse_flags([]))


def _status(port: int) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/slots")
        return connection.getresponse().status
    except OSError:
        return 0
    finally:
        connection.close()


def test_it_says_loading_until_the_engine_is_ready() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    flags = parse_flags(["-np", "1"])
    ready = listen_beside(str(port), flags)
    until(lambda: _status(port))
    assert _status(port) == 503
    host = EngineHost(build_core(flags, StubModel(), microseconds()))
    host.start()
    ready(host)
    assert _status(port) == 200
    host.close()


def test_any_free_port_is_told() -> None:
    face = listen_beside("0", parse_flags(["-np", "1"]))
    host, port = face.address.removeprefix("http://").split(":")
    assert host == "127.0.0.1"
    until(lambda: _status(int(port)))
    assert listen_beside("[::1]:0", parse_flags([])).address.startswith("http://[::1]:")


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="needs unix sockets")
def test_a_unix_socket_is_replaced_only_where_nobody_listens_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket has to be short
    bind("a.sock", 0).close()
    with bind("a.sock", 0), pytest.raises(OSError, match="in use"):
        bind("a.sock", 0)
    Path("b.sock").write_text("mine", encoding="utf-8")
    with pytest.raises(OSError, match="in use"):
        bind("b.sock", 0)
    assert Path("b.sock").read_text(encoding="utf-8") == "mine"
