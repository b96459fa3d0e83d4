"""What a child's command line tells about how to reach it."""

from __future__ import annotations

import pytest

from slotview.engine.backend import BackendError
from slotview.engine.runner.arguments import address_of, model_path, split_arguments, url_of, without_launch


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
    launch, others = split_arguments(words, {})
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


def test_an_option_without_its_value_is_left_to_the_server_to_refuse() -> None:
    assert model_path(["-m"], {}) is None


def test_variables_count_as_launch_flags_and_none_is_left_to_undo_a_retune() -> None:
    environ = {
        "LLAMA_ARG_CTX_SIZE": "2048",
        "LLAMA_ARG_N_PARALLEL": "2",
        "LLAMA_ARG_KV_UNIFIED": "1",
        "LLAMA_ARG_FIT_TARGET": "512",
        "LLAMA_ARG_THREADS": "x",
    }
    launch, others = split_arguments(["-np", "3", "-m", "x.gguf"], environ)
    assert launch.arguments() == ["-c", "2048", "-np", "3", "-kvu"]
    assert others == ["-m", "x.gguf"]
    left = without_launch({**environ, "LLAMA_ARG_NO_KV_UNIFIED": "1"})
    assert left == {"LLAMA_ARG_FIT_TARGET": "512", "LLAMA_ARG_THREADS": "x"}
    with pytest.raises(BackendError, match="LLAMA_ARG_N_PARALLEL"):
        split_arguments([], {"LLAMA_ARG_N_PARALLEL": "many"})


def test_the_model_may_be_named_by_a_variable() -> None:
    assert model_path([], {"LLAMA_ARG_MODEL": "x.gguf"}) == "x.gguf"
    assert model_path(["-m", "y.gguf"], {"LLAMA_ARG_MODEL": "x.gguf"}) == "y.gguf"
