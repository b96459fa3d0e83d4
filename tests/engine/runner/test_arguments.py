"""What a child's command line tells about how to reach it."""

from __future__ import annotations

from pathlib import Path

import pytest

from slotview.engine.backend import BackendError
from slotview.engine.runner.arguments import (
    address_of,
    api_key_of,
    command_to_copy,
    model_path,
    split_arguments,
    url_of,
)


@pytest.mark.parametrize(
    ("words", "environ", "url"),
    [
        ([], {}, "http://127.0.0.1:9"),
        (["--api-prefix", "/llm"], {}, "http://127.0.0.1:9/llm"),
        (["--api-prefix=/a", "--api-prefix", "/b"], {}, "http://127.0.0.1:9/b"),
        ([], {"LLAMA_ARG_API_PREFIX": "/llm"}, "http://127.0.0.1:9/llm"),
        (["--ssl-key-file", "k", "--ssl-cert-file", "c"], {}, "https://127.0.0.1:9"),
        (["--host", "10.0.0.7"], {}, "http://10.0.0.7:9"),
        (["--host", "0.0.0.0"], {}, "http://127.0.0.1:9"),
        (["--host", "::1"], {}, "http://[::1]:9"),
        (["--host", "/run/a.sock, ::1,10.0.0.7"], {}, "http://[::1]:9"),
    ],
)
def test_where_the_child_listens(words: list[str], environ: dict[str, str], url: str) -> None:
    assert url_of(words, environ, 9) == url


def test_a_retune_leaves_the_targets_of_each_device_as_they_are() -> None:
    words = ["-m", "x.gguf", "--fit-target", "512,1024", "-np", "2", "-fitc", "2048"]
    launch, others = split_arguments(words)
    assert launch.arguments() == ["-np", "2"]
    assert others == ["-m", "x.gguf", "--fit-target", "512,1024", "-fitc", "2048"]


def test_a_host_and_a_port_that_were_asked_for_are_used() -> None:
    assert address_of([], {}) == ("127.0.0.1", None)
    assert address_of(["--port", "0"], {}) == ("127.0.0.1", None)
    assert address_of(["--host=0.0.0.0", "--port", "8080"], {"LLAMA_ARG_PORT": "9"}) == ("0.0.0.0", 8080)
    assert address_of([], {"LLAMA_ARG_HOST": "localhost", "LLAMA_ARG_PORT": "9"}) == ("localhost", 9)


@pytest.mark.parametrize("words", [["--port", "http"], ["--port", "-1"], ["--port=65536"], ["--host", "llama.sock"]])
def test_an_address_that_nobody_can_listen_at_is_said_before_anything_starts(words: list[str]) -> None:
    with pytest.raises(BackendError, match=words[0].partition("=")[0]):
        address_of(words, {})


def test_the_key_of_the_child(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text("# our keys\n\nk4\nk5\n")
    assert api_key_of(["--api-key", "k1,k2"], {"LLAMA_API_KEY": "k3"}) == "k1"
    assert api_key_of(["--api-key=k1"], {}) == "k1"
    assert api_key_of(["--api_key", "k1"], {}) == "k1"
    assert api_key_of([], {"LLAMA_ARG_API_KEY_FILE": str(file)}) == "k4"
    assert api_key_of([], {"LLAMA_API_KEY": "k3"}) == "k3"
    assert api_key_of(["--api-key-file", str(file)], {}) == "k4"
    assert api_key_of(["--api-key-file", str(tmp_path / "none")], {}) is None
    assert api_key_of(["--api-key"], {}) is None


def test_the_command_to_copy_has_no_secret_and_can_be_pasted() -> None:
    words = ["llama-server", "-m", "my model.gguf", "--api_key", "secret", "--hf-token=secret", "-np", "2"]
    expected = 'llama-server -m \'my model.gguf\' --api_key "$LLAMA_API_KEY" --hf-token "$HF_TOKEN" -np 2'
    assert command_to_copy(words) == expected
    assert command_to_copy(["--api-key"]) == '--api-key "$LLAMA_API_KEY"'


def test_an_option_without_its_value_is_left_to_the_server_to_refuse() -> None:
    assert model_path(["-m"]) is None
