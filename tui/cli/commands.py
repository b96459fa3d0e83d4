"""The commands and their help. Each imports only what it needs, so that none is slowed down by another."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from slotview import __version__

from .completion import EngineCommand, EngineGroup
from .help import COMMANDS, EXAMPLES, engine_help, misplaced_option
from .screen import ScreenOptions

__all__ = ["run_command"]

app = typer.Typer(
    name="slotview",
    cls=EngineGroup,
    help=f"See the slots of a llama.cpp server at work.\n\n\b\n{EXAMPLES}",
    no_args_is_help=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
ENGINE = {"ignore_unknown_options": True, "allow_extra_args": True}
Every = Annotated[float | None, typer.Option("--refresh", help="seconds between refreshes of the screen")]
Record = Annotated[
    str | None, typer.Option("--record", help="record to a new file, for slotview replay; without prompts")
]
Theme = Annotated[str | None, typer.Option("--theme", help="name of a Textual theme")]


def _version(value: bool) -> None:
    if value:
        typer.echo(f"slotview {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="print the version")
    ] = False,
) -> None:
    """Options before a command."""


@app.command(cls=EngineCommand, context_settings=ENGINE, hidden=True, epilog=engine_help())
def dashboard(
    context: typer.Context,
    listen: Annotated[
        str | None, typer.Option("--listen", help="[HOST:]PORT at which to serve HTTP beside the screen")
    ] = None,
    refresh: Every = None,
    theme: Theme = None,
    record: Record = None,
) -> None:
    """Open the dashboard on the embedded engine."""
    from .dashboard import start_dashboard

    start_dashboard(context.args, ScreenOptions(refresh, theme, record), listen=listen)


@app.command(
    cls=EngineCommand,
    context_settings=ENGINE,
    epilog=engine_help(),
    short_help="Play a scripted minute for a class.",
)
def demo(context: typer.Context, theme: Theme = None) -> None:
    """Play a scripted minute for a class: deferral, two slots, unified KV."""
    from .dashboard import start_demo

    start_demo(context.args, ScreenOptions(theme=theme))


@app.command()
def attach(
    urls: Annotated[
        list[str] | None, typer.Argument(metavar="URL|NAME…", help="servers, or names from slotview/config.toml")
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", help="model of a router or llama-swap; or the model file (.gguf), for sizes in bytes"),
    ] = None,
    api_key: Annotated[
        str | None,
        typer.Option("--api-key", help="key of the server, else LLAMA_API_KEY; never shown"),
    ] = None,
    interval: Annotated[float | None, typer.Option("--interval", help="seconds between looks (default 1)")] = None,
    metrics_every: Annotated[
        float | None, typer.Option("--metrics-every", help="seconds between reads of /metrics; 0 = never")
    ] = None,
    backoff: Annotated[
        bool, typer.Option("--backoff/--no-backoff", help="look less often while nothing happens")
    ] = True,
    once: Annotated[bool, typer.Option("--once", help="look once, print the result, and exit")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="with --once: print JSON")] = False,
    refresh: Every = None,
    theme: Theme = None,
    record: Record = None,
) -> None:
    """Watch llama-servers that run elsewhere."""
    from .attach import AttachOptions, start_attach, start_once
    from .common import fail

    options = AttachOptions(tuple(model or ()), api_key, interval, metrics_every, backoff)
    if once or as_json:
        if record is not None:
            fail("--record keeps what a screen shows; a single look goes to a file with --once --json > FILE", 2)
        start_once(urls or [], options, as_json=as_json)
    else:
        start_attach(urls or [], options, ScreenOptions(refresh, theme, record))


@app.command(cls=EngineCommand, context_settings=ENGINE, epilog=engine_help())
def serve(context: typer.Context) -> None:
    """Serve the embedded engine over llama-server's HTTP interface."""
    from .headless import start_server

    start_server(context.args)


@app.command(context_settings=ENGINE, short_help="Start a real llama-server as a child and watch it.")
def run(
    context: typer.Context,
    server_bin: Annotated[
        str | None,
        typer.Option("--server-bin", envvar="LLAMA_SERVER_BIN", show_envvar=True, help="the llama-server binary"),
    ] = None,
    refresh: Every = None,
    theme: Theme = None,
    record: Record = None,
) -> None:
    """Start a real llama-server as a child and watch it: slotview run -- -m model.gguf -np 4 --port 8080.

    Without --port, it listens on any free port, which the screen shows.
    """
    from .dashboard import start_runner

    start_runner(context.args, ScreenOptions(refresh, theme, record), server_bin=server_bin)


@app.command(cls=EngineCommand, context_settings=ENGINE, epilog=engine_help())
def complete(context: typer.Context, prompt: Annotated[str, typer.Argument(help="text to continue")]) -> None:
    """Complete a prompt with the embedded engine and print the text."""
    from .headless import complete_once

    complete_once(prompt, context.args)


@app.command(
    cls=EngineCommand,
    context_settings=ENGINE,
    epilog=engine_help(),
    short_help="Compare numbers of slots for a workload, in virtual time.",
)
def plan(
    context: typer.Context,
    workload: Annotated[
        list[str], typer.Argument(metavar="WORKLOAD", help="burst n=8 …, or poisson rate=0.5 seconds=60 …")
    ],
    slots: Annotated[
        str | None, typer.Option("--slots", help="numbers of slots to try (default 1,2,4,8, or that of -np)")
    ] = None,
) -> None:
    """Run a workload in virtual time with several numbers of slots, split and unified, and compare.

    Steps take as long as on the device named by --pace; --pace off measures this machine.

    \b
    A workload is one of
      burst n=8 prompt=61 answer=64        eight requests at once
      burst n=8 times=3 every=30           three times, 30 s apart
      poisson rate=0.5 seconds=60 seed=1   at random, on average one every two seconds
    prompt= and answer= are tokens: 64, 20..800 (uniform) or 100~ (around 100);
    shared= is the number of tokens with which all prompts begin.
    """
    from .headless import print_plan

    print_plan(" ".join(workload), slots, context.args)


@app.command()
def replay(
    path: Annotated[
        str, typer.Argument(help='file made by --record, or JSON lines {"t": seconds, "slots": answer of /slots}')
    ],
    speed: Annotated[float, typer.Option("--speed", help="1 = in real time", min=0.01)] = 1.0,
    theme: Theme = None,
) -> None:
    """Replay a recording."""
    from .dashboard import start_replay

    start_replay(path, ScreenOptions(theme=theme), speed=speed)


def run_command(words: Sequence[str]) -> None:
    """Run what was typed: options without a command mean the dashboard."""
    if problem := misplaced_option(words):
        typer.echo(f"slotview: {problem}", err=True)
        sys.exit(2)
    own = ("--version", "--help", "-h", "--install-completion", "--show-completion")
    if not words or (words[0] not in COMMANDS and words[0] not in own):
        words = ["dashboard", *words]
    app(args=words, prog_name="slotview")
