"""What people type, and what of it is shown."""

from __future__ import annotations

import pytest

from slotview.engine.remote.http.address import AddressError, parse_address
from slotview.engine.remote.http.credentials import Credentials


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("http://localhost:8080", "http://localhost:8080"),
        ("localhost", "http://localhost:8080"),
        ("localhost:9000", "http://localhost:9000"),
        ("9000", "http://localhost:9000"),
        (":9000", "http://localhost:9000"),
        ("http://example.org", "http://example.org"),
        ("HTTPS://Example.org/llm/", "https://example.org/llm"),
        ("::1", "http://[::1]:8080"),
        ("[::1]:9000/x", "http://[::1]:9000/x"),
        ("http://[fe80::1]:80", "http://[fe80::1]:80"),
        ("http://[fe80::1%25en0]:80", "http://[fe80::1%en0]:80"),
        ("10.0.0.1/v1", "http://10.0.0.1:8080"),
        ("http://h:1/a/v1/chat/completions", "http://h:1/a"),
        ("http://h:1/v1/", "http://h:1"),
        ("http://h:1/health?x=1#y", "http://h:1"),
        ("http://user:pa%40ss@h:1/p", "http://h:1/p"),
        ("user:secret@h", "http://h:8080"),
        ("http://h:1/at@home", "http://h:1/at@home"),
        ("unix:///run/llama.sock", "unix:///run/llama.sock"),
        ("http+unix://%2Frun%2Fllama.sock", "unix:///run/llama.sock"),
        ("/run/llama.sock", "unix:///run/llama.sock"),
        ("/run/llama", "unix:///run/llama"),
        ("unix:/run/llama.sock", "unix:///run/llama.sock"),
        ("llama.sock", "unix://llama.sock"),
        ("llama.sock/llm/v1", "unix://llama.sock/llm"),
        ("llama.socks/llm", "http://llama.socks:8080/llm"),
        ("unix:///run/llama.sock/v1", "unix:///run/llama.sock"),
        ("/run/llama.sock/llm/v1/models", "unix:///run/llama.sock/llm"),
        ("unix:///run/a.sock/upstream/m/slots", "unix:///run/a.sock"),
        ("http://llama.sock:8080", "http://llama.sock:8080"),
        ("http://h:1/v1/health", "http://h:1"),
        ("http://h:1/a/v1/embeddings", "http://h:1/a"),
        ("http://h:1/chat/completions", "http://h:1"),
        ("http://h:1/slots/3?action=erase", "http://h:1"),
        ("http://h:1/slotsroom", "http://h:1/slotsroom"),
        ("http://h:1/upstream/org/big-model/v1", "http://h:1"),
        ("h:1/#/chat/7", "http://h:1"),
    ],
)
def test_addresses(typed: str, shown: str) -> None:
    assert parse_address(typed).shown == shown


@pytest.mark.parametrize("typed", ["", "  ", "http://", "ftp://x", "http://h:99999", "http://h:port", "unix://", "a b",
                                   "http:/h:1", "//h:1",
                                   "http://[::1", "x\x1b[2J"])  # fmt: skip
def test_addresses_that_are_none_get_one_line(typed: str) -> None:
    with pytest.raises(AddressError) as caught:
        parse_address(typed)
    assert "\n" not in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("typed", ["http://user:hunter2@h:99999", "http://user:hun/ter2@h", "user:hunter2@[::1"])
def test_a_password_is_in_no_message(typed: str) -> None:
    try:
        told = repr(parse_address(typed)) + parse_address(typed).shown
    except AddressError as error:
        told = str(error)
    assert "hunter2" not in told
    assert "ter2" not in told


def test_a_home_in_the_path_of_a_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("USERPROFILE", "/home/me")
    assert parse_address("~/llama.sock").socket == "/home/me/llama.sock"


def test_a_path_of_llama_swap_names_the_model() -> None:
    assert parse_address("http://h:1/llm/upstream/org%2Fbig/slots").model == "org/big"
    assert parse_address("http://h:1/llm").model is None


@pytest.mark.parametrize(
    ("typed", "key", "headers"),
    [
        ("http://h:1", None, {}),
        ("http://h:1", " ", {}),
        ("http://h:1", " k1\n", {"Authorization": "Bearer k1"}),
        ("http://me:it@h:1", None, {"Authorization": "Basic bWU6aXQ="}),
        ("http://me:it@h:1", "k1", {"Authorization": "Basic bWU6aXQ=", "X-Api-Key": "k1"}),
    ],
)
def test_what_proves_who_asks(typed: str, key: str | None, headers: dict[str, str]) -> None:
    credentials = Credentials.of(parse_address(typed), key)
    assert credentials.headers() == headers
    assert "k1" not in repr(credentials)


@pytest.mark.parametrize(
    ("typed", "local"),
    [
        ("localhost", True),
        ("127.0.0.2", True),
        ("[::1]:1", True),
        ("unix:///x.sock", True),
        ("0.0.0.0:8080", True),
        ("[::]", True),
        ("10.0.0.1", False),
        ("example.org", False),
    ],
)
def test_what_is_this_machine(typed: str, local: bool) -> None:
    assert parse_address(typed).is_local is local
