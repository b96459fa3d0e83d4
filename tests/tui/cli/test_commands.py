"""The command line, as a person types it."""

from __future__ import annotations

import gc
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from slotview import __version__
from slotview.engine.remote.once import ExitCode
from slotview.tui.cli import main
from slotview.tui.cli.help import misplaced_option
from tests.fake_server import FakeServer, Reply, Request, error_reply


def slotview(*words: str, environ: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run the program and return what it said."""
    import os

    environment = {**os.environ, "SLOTVIEW_CONFIG": "does-not-exist.toml", **(environ or {})}
    return subprocess.run(
        [sys.executable, "-m", "slotview", *words],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
        stdin=subprocess.DEVNULL,
    )


Refused = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Refused]:
    """Type what is refused, without a process of its own; an error that would be a traceback is raised."""

    def say(*words: str, config: object = "does-not-exist.toml") -> subprocess.CompletedProcess[str]:
        monkeypatch.setattr("sys.argv", ["slotview", *words])
        monkeypatch.setenv("SLOTVIEW_CONFIG", str(config))
        with pytest.raises(SystemExit) as ended:
            main()
        assert isinstance(ended.value.code, int)
        return subprocess.CompletedProcess(words, ended.value.code, *capsys.readouterr())

    yield say
    gc.enable()  # attach pauses it until there is a screen


def test_version_and_help() -> None:
    assert slotview("--version").stdout.strip() == f"slotview {__version__}"
    shown = slotview("--help").stdout
    assert "slotview attach localhost:8080" in shown
    assert "serve" in shown
    assert "slotview dashboard --help" in shown
    assert "..." not in shown.partition("Commands:")[2], "no description is cut off"


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("slotview serve --ctx-s", ["--ctx-size"]),
        ("slotview --ctx-s", ["--ctx-size"]),
        ("slotview --li", ["--listen"]),
        ("slotview --help", ["--help"]),
        ("slotview dashboard -c 512 --kv-unified-", ["--kv-unified-per-slot"]),
        ("slotview attach --inter", ["--interval"]),
        ("slotview attach --ctx", []),
    ],
)
def test_the_shell_offers_the_engines_options_where_they_are_taken(typed: str, offered: list[str]) -> None:
    place = str(len(typed.split()) - 1)
    asked = {"_SLOTVIEW_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": place}
    assert slotview(environ=asked).stdout.split() == offered


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("-np", "0"), "invalid value for n_parallel"),
        (("--foo",), "invalid argument: --foo"),
        (("--pace", "warp"), "--pace warp: no such profile; use off or one of m4-9b"),
        (("-c", "512", "-np", "257"), "at most 256"),
        (("sreve", "--help"), "there is no command 'sreve'; did you mean serve?"),
        (("xyz",), "there is no command 'xyz'; see slotview --help"),
        (("-hf", "a/b"), "-hf is not possible here"),
        (("--listen", "here"), "--listen here: give [HOST:]PORT"),
        (("--listen", "²"), "--listen ²: give [HOST:]PORT"),
        (("--listen", ""), "give [HOST:]PORT"),
        (("-np", "4", "serve"), "slotview serve -np 4"),
        (("--api-key", "mine", "serve"), 'slotview serve --api-key "$LLAMA_API_KEY"'),
        (("-kvu", "complete", "What is a slot?", "-n", "8"), "slotview complete -kvu 'What is a slot?' -n 8"),
        (("-np", "4", "attach", "http://x"), "no meaning before attach"),
        (("-c", "512", "stray"), "unexpected argument 'stray'"),
        (("--refresh", "-1"), "--refresh -1: use seconds from 0.05 to 10"),
        (("attach", "http://x", "--refresh", "nan"), "--refresh nan: use seconds from 0.05 to 10"),
        (("attach", "http://x", "http://y", "--refresh", "0"), "--refresh 0: use seconds from 0.05 to 10"),
        (("--theme", "no such"), "there is no theme no such; there are: slotview-dark"),
        (("demo", "--theme", "no such"), "there is no theme no such"),
        (("attach",), "attach needs a URL"),
        (("run", "--server-bin", "no-such", "--", "-m", "x"), "no-such: no such program"),
        (("attach", "--once", "--json"), "--once looks at one server"),
        (("attach", "http://x", "--once", "--record", "x"), "a single look goes to a file with --once --json > FILE"),
        (("complete", "hi", "--lora", "x"), "no LoRA adapters"),
        (("plan", "burst n=8", "--slots", "1,x"), "--slots 1,x: give whole numbers"),
        (("plan", "burst n=8", "--slots", "0,300"), "-np 0: invalid value for n_parallel"),
        (("plan", "burst n=8", "-c", "-5"), "-c -5: a context cannot be negative"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(refused: Refused, words: tuple[str, ...], told: str) -> None:
    done = refused(*words)
    assert done.returncode == 2
    assert told in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_model_that_is_none_is_one_line(refused: Refused, tmp_path: Path) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF\x03")
    done = refused("complete", "hi", "-m", str(path))
    assert done.returncode == 1
    assert "broken.gguf" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("theme = 3", "theme"),
        ("refresh = true", "refresh: Input should be a valid number"),
        ('interval = "2"', "interval: Input should be a valid number"),
        ("metrics_every = inf", "metrics_every: Input should be a finite number"),
        ('pace = "warp"', "config.toml: pace: no such profile; use off or one of m4-9b"),
        ('[servers.class]\nurl = ""', "servers.class"),
        ("[profiles.lab]\nper_slot = 3", "profiles.lab.step: is missing"),
        ("[profiles.lab]\nstep = -1", "profiles.lab.step: Input should be greater than or equal to 0"),
        ("[profiles.lab]\nstep = nan", "profiles.lab.step: Input should be"),
        ("[profiles.off]\nstep = 1", "profiles: off means that nothing is paced"),
        ('pace = "lap"\n[profiles.lab]\nstep = 1', "pace: no such profile; use off or one of m4-9b, lab"),
        ("[[", "not valid TOML"),
        pytest.param("theme = " + "[" * 10_000, "nested too deeply", id="deep"),
        ("colour = 'red'", "colour: there is no such setting"),
        ('"\\u001b[2J" = 1', "␛[2J: there is no such setting"),
    ],
)
def test_a_wrong_configuration_names_the_file_and_the_field(
    refused: Refused, tmp_path: Path, text: str, told: str
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    done = refused("attach", config=path)
    assert done.returncode == 2
    assert told in done.stderr
    assert done.stderr.count("\n") == 1
    assert "servers.class" in told or "config.toml" in done.stderr


def test_a_device_of_ones_own_sets_the_pace(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('pace = "lab"\n[profiles.lab]\nstep = 1000\nper_slot = 500')
    words = ("plan", "burst n=1 prompt=5 answer=11", "--slots", "1", "-c", "512", "--pace", "lab")
    done = slotview(*words, environ={"SLOTVIEW_CONFIG": str(path)})
    assert (done.returncode, done.stderr) == (0, "")
    assert "times of lab" in done.stdout
    assert "(15.0 s)" in done.stdout  # ten steps after the first token


def test_a_configuration_of_windows_is_read(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('theme = "nord"\nrefresh = 1\n[servers.class]\nurl = "http://127.0.0.1:1"', encoding="utf-8-sig")
    done = slotview("attach", "class", "--once", environ={"SLOTVIEW_CONFIG": str(path)})
    assert done.returncode == 3, done.stderr


@pytest.mark.parametrize("words", [("demo",), ("attach", "http://x"), ("attach", "http://x", "http://y")])
def test_a_configured_theme_counts_wherever_there_is_a_screen(
    refused: Refused, tmp_path: Path, words: tuple[str, ...]
) -> None:
    path = tmp_path / "config.toml"
    path.write_text('theme = "no such"')
    done = refused(*words, config=path)
    assert done.returncode == 2
    assert "there is no theme no such" in done.stderr


def test_completion_prints_text_with_the_bundled_model() -> None:
    done = slotview("complete", "What is a slot?", "--temp", "0", "-n", "24")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) > 4
    assert slotview("complete", "--temp", "0", "-n", "24", "What is a slot?").stdout == done.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("complete",), "Missing argument 'prompt'"),
        (("complete", "-n", "5"), "Missing argument 'prompt'"),
        (("complete", "hi", "-n"), "expected value"),
        (("complete", "hi", "--bogus"), "--bogus"),
        (("complete", "hi", "there"), "there"),
    ],
)
def test_words_that_make_no_sense_are_named(refused: Refused, words: tuple[str, ...], told: str) -> None:
    done = refused(*words)
    assert done.returncode == 2
    assert told in done.stderr


def test_options_of_a_value_are_no_commands() -> None:
    assert misplaced_option(["-a", "serve", "-np", "4"]) is None
    assert misplaced_option(["--theme", "demo"]) is None
    assert misplaced_option([]) is None


def test_a_terminal_without_a_screen_is_one_line() -> None:
    ended = slotview(environ={"TERM": "dumb"})
    assert ended.returncode == 2
    assert ended.stderr.startswith("slotview: TERM=dumb: no screen can be drawn on this terminal")
    assert not ended.stdout


def test_a_taken_port_is_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = slotview("--listen", str(port))
    assert done.returncode == 1
    assert done.stderr == f"slotview: --listen {port}: Address already in use; choose another port\n"


@pytest.mark.parametrize(
    ("words", "environ", "sent"),
    [
        (["box"], {"BOX_KEY": "k-box"}, "Bearer k-box"),
        (["box"], {"BOX_KEY": "k-box", "LLAMA_API_KEY": "k-other"}, "Bearer k-box"),
        (["box"], {"LLAMA_API_KEY": "k-other"}, ""),
        (["plain"], {"LLAMA_API_KEY": "k-any"}, "Bearer k-any"),
        (["URL"], {"LLAMA_API_KEY": "k-any"}, "Bearer k-any"),
        (["box", "--api-key", "k-typed"], {"BOX_KEY": "k-box", "LLAMA_API_KEY": "k-any"}, "Bearer k-typed"),
    ],
)
def test_a_server_is_sent_the_key_that_was_meant_for_it(
    refused: Refused,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    environ: dict[str, str],
    sent: str,
    tmp_path: Path,
) -> None:
    asked: list[str] = []

    def props(request: Request) -> Reply:
        asked.append(request.headers.get("authorization", ""))
        return error_reply(401, "Invalid API Key", "authentication_error")

    config = tmp_path / "config.toml"
    with FakeServer({"/props": props}) as server:
        plain = f'[servers.plain]\nurl = "{server.url}"\n'
        config.write_text(f'{plain}[servers.box]\nurl = "{server.url}"\napi_key_env = "BOX_KEY"\n')
        typed = [server.url if word == "URL" else word for word in words]
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        assert refused("attach", *typed, "--once", config=config).returncode == ExitCode.KEY
    assert asked[0] == sent


def test_ctrl_c_while_the_program_is_loaded_ends_it_without_a_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(words: list[str]) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("slotview.tui.cli.commands.run_command", interrupted)
    monkeypatch.setattr("sys.argv", ["slotview", "serve"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    assert capsys.readouterr() == ("", "")


def test_a_plan_tries_the_number_of_slots_that_was_given() -> None:
    done = slotview("plan", "burst n=3 prompt=5 answer=2", "-np", "3", "-c", "512", "-b", "3")
    assert done.returncode == 0, done.stderr
    assert [line.split()[:3] for line in done.stdout.splitlines()[3:5]] == [
        ["3", "split", "256"],
        ["3", "unified", "512"],
    ]
    usual = slotview("plan", "burst n=1 prompt=5 answer=2", "-c", "512", "-b", "3").stdout
    assert [line.split()[0] for line in usual.splitlines()[3:6]] == ["1", "2", "2"]
    assert "does not start: -c 512 -np 4 -b 3: -b 3: the batch must hold one token of each slot" in usual


def test_a_workload_needs_no_quotes() -> None:
    quoted = slotview("plan", "burst n=2 prompt=5 answer=2", "-c", "512", "--slots", "1")
    assert quoted.returncode == 0
    assert slotview("plan", "burst", "n=2", "prompt=5", "-c", "512", "answer=2", "--slots", "1").stdout == quoted.stdout
    assert "there is no such word" in slotview("plan", "burst", "n=2", "stray=1").stderr


def test_a_plan_without_a_device_measures_this_machine() -> None:
    done = slotview("plan", "burst n=2 prompt=5 answer=2", "--slots", "1", "-c", "512", "--pace", "off")
    assert done.returncode == 0, done.stderr
    assert "times of this machine, measured" in done.stdout
    assert "2/2" in done.stdout
