"""What ends ``slotview serve`` before it serves, in one line."""

from __future__ import annotations

import errno
import re
import signal
from contextlib import closing
from pathlib import Path

import pytest

from slotview.engine.flags import parse_flags
from slotview.engine.serve.http_server import bind, make_server
from slotview.engine.serve.loader import Loader
from slotview.engine.serve.printer import LogPrinter
from slotview.engine.serve.server import serve
from slotview.engine.serve.start_lines import start_lines
from slotview.engine.serve.state import ServerState
from tests.engine.model.small_file import write_model


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--slot-save-path", "{}/none"], "not a directory: "),
        (["--api-key-file", "{}/none"], "error: failed to open file "),
        (["--api-key-file", ""], "error: failed to open file ''"),
        (["--chat-template", "{{ x"], "error: the supplied chat template is not supported: "),
        (
            ["--chat-template", "{{ messages[0].content.none() }}"],
            "error: the supplied chat template is not supported: ",
        ),
    ],
)
def test_what_cannot_start_says_so_in_a_line(
    words: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert serve(parse_flags([word.replace("{}", str(tmp_path)) for word in words])) == 1
    shown = capsys.readouterr().err
    assert shown.startswith(told)
    assert shown.count("\n") == 1


THINKS = "{% for m in messages %}<think>{{ m.reasoning_content }}</think>{{ m.content }}{% endfor %}"


@pytest.mark.parametrize(
    ("line", "template", "told"),
    [
        (
            "-cram 0",
            "",
            [
                "T prompt cache is disabled - use `--cache-ram N` to enable it",
                "W --cache-idle-slots requires --cache-ram, disabling",
                "T chat template, thinking = 0",
                "T preserve_reasoning kwarg: not supported by template",
            ],
        ),
        (
            "--no-cache-idle-slots -cram 0 --no-reasoning-preserve",
            "",
            [
                "T prompt cache is disabled - use `--cache-ram N` to enable it",
                "T chat template, thinking = 0",
                "T preserve_reasoning kwarg: not supported by template",
            ],
        ),
        (
            "--no-cache-idle-slots -cram -1 --reasoning-preserve",
            "",
            [
                "T prompt cache is enabled, size limit: no limit",
                "T use `--cache-ram 0` to disable the prompt cache",
                "T chat template, thinking = 0",
                "T preserve_reasoning kwarg: not supported by template",
                "W chat template does NOT support preserving reasoning, --reasoning-preserve has no effect",
            ],
        ),
        (
            "-cram 100",
            THINKS,
            [
                "T prompt cache is enabled, size limit: 100 MiB",
                "T use `--cache-ram 0` to disable the prompt cache",
                "T idle slots will be saved to prompt cache and cleared upon starting a new task",
                "T chat template, thinking = 1",
                "T preserve_reasoning kwarg: true",
                "W chat template supports preserving reasoning, it is enabled by default",
            ],
        ),
        (
            "-cram 100 -np 2 --no-cache-idle-slots --reasoning off --no-reasoning-preserve",
            THINKS,
            [
                "T prompt cache is enabled, size limit: 100 MiB",
                "T use `--cache-ram 0` to disable the prompt cache",
                "T chat template, thinking = 0",
                "T preserve_reasoning kwarg: false",
                "I chat template supports preserving reasoning, consider enabling it",
            ],
        ),
    ],
)
def test_what_the_log_says_of_prompt_cache_and_thoughts(line: str, template: str, told: list[str]) -> None:
    flags = parse_flags(line.split(), {})
    lines = [f"{level} {text}" for level, text in start_lines(flags, template, unified=flags.launch.parallel < 0)]
    found = [re.sub(r"^(.) srv +\w+: (init: )?", r"\1 ", text) for text in lines]
    assert [text[: len(start)] for text, start in zip(found, told, strict=True)] == told


def test_variables_for_debugging_are_told_first() -> None:
    flags = parse_flags([], {"LLAMA_SERVER_SLOTS_DEBUG": "1x"})
    assert next(start_lines(flags, "", unified=True)) == ("W", "srv    load_model: LLAMA_SERVER_SLOTS_DEBUG = 1")


def test_an_address_that_cannot_be_had_ends_the_start_and_frees_the_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with closing(bind("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    assert serve(parse_flags(["--host", "127.0.0.1,192.0.2.1", "--port", str(port)])) == 1
    assert f"couldn't bind HTTP server socket, hostname: 192.0.2.1, port: {port}" in capsys.readouterr().err
    bind("127.0.0.1", port).close()


def test_the_port_of_all_addresses_of_both_kinds_can_be_had_together() -> None:
    with closing(bind("0.0.0.0", 0)) as four:
        try:
            bind("::", four.getsockname()[1], only_v6=True).close()
        except OSError as error:
            if error.errno in (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL):
                pytest.skip("this machine has no IPv6")
            raise


def test_a_vocabulary_that_may_cut_text_otherwise_is_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_model(tmp_path / "model.gguf", tokenizer__ggml__pre="from-tomorrow")
    flags = parse_flags(["-m", str(path)])
    state = ServerState(flags)
    Loader(state, LogPrinter(flags, 0), make_server(state), ()).run()
    state.engine.close()
    assert 'W load: unknown pre-tokenizer "from-tomorrow"' in capsys.readouterr().err


def test_the_second_signal_ends_the_server_at_once_with_1(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    ends: list[int] = []
    monkeypatch.setattr("os._exit", ends.append)
    server = make_server(ServerState(parse_flags([])))
    server.handle_exit(signal.SIGTERM, None)
    assert server.should_exit
    assert not ends
    server.handle_exit(signal.SIGINT, None)
    assert ends == [1]
    assert capfd.readouterr().err == "Received second interrupt, terminating immediately.\n"
