"""How each command puts the parts together. Everything is imported where it is needed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from textual.app import App

    from slotview.engine.backend import Backend
    from slotview.engine.context import ModelFacts
    from slotview.engine.flags import EngineFlags
    from slotview.engine.host import EngineHost
    from slotview.engine.settings import Settings

__all__ = [
    "AttachOptions",
    "complete_once",
    "print_plan",
    "start_attach",
    "start_dashboard",
    "start_demo",
    "start_once",
    "start_replay",
    "start_runner",
    "start_server",
]

DEFAULT_PACE = "m4-9b"
DEFAULT_CONTEXT = ("-c", "8192", "-np", "4")
DUMB = ("dumb", "unknown")
INSTEAD = "`slotview attach URL --once` prints a snapshot"
MOST_OFTEN, LEAST_OFTEN = 0.05, 10.0
"""Seconds between two looks of the screen, as the configuration file bounds them."""


@dataclass(frozen=True, slots=True)
class AttachOptions:
    """How to watch servers elsewhere. Times are seconds, None = the default. ``models``: names, and files (.gguf)."""

    models: tuple[str, ...] = ()
    api_key: str | None = None
    interval: float | None = None
    metrics_every: float | None = None
    backoff: bool = True

    @property
    def model(self) -> str | None:
        """The model chosen by name."""
        return next((model for model in self.models if not model.endswith(".gguf")), None)

    @property
    def file(self) -> str | None:
        """The model file that gives sizes."""
        return next((model for model in self.models if model.endswith(".gguf")), None)


def fail(message: object, code: int = 1) -> NoReturn:
    """End with one line on stderr."""
    print(f"slotview: {message}", file=sys.stderr)
    sys.exit(code)


def settings() -> Settings | None:
    """Read the configuration file, where there is one."""
    from slotview.engine.config_place import config_path

    place = config_path()
    if not place.exists():
        return None
    from slotview.engine.settings import SettingsError, load_settings

    try:
        return load_settings(place)
    except SettingsError as error:
        fail(error, 2)


def known_theme(name: str | None) -> str | None:
    """Return a theme's name, or end with one line where there is no such theme."""
    if name is not None:
        from textual.theme import BUILTIN_THEMES

        from slotview.engine.plain import plain

        from .theme import THEMES

        names = [*(theme.name for theme in THEMES), *BUILTIN_THEMES]
        if name not in names:
            fail(f"there is no theme {plain(name)}; there are: {', '.join(names)}", 2)
    return name


def known_refresh(seconds: float | None) -> float | None:
    """Return how often to look, or end with one line: below, the screen would do nothing but look."""
    if seconds is not None and not MOST_OFTEN <= seconds <= LEAST_OFTEN:
        fail(f"--refresh {seconds:g}: use seconds from {MOST_OFTEN:g} to {LEAST_OFTEN:g}", 2)
    return seconds


def read_flags(words: Sequence[str]) -> EngineFlags:
    """Read engine options; one line and exit code 2 where they are wrong."""

    from slotview.engine.context import ContextError
    from slotview.engine.flags import FlagError, parse_flags
    from slotview.engine.loading import check_flags
    from slotview.engine.pace import UnknownProfileError, profile

    try:
        flags = parse_flags(words, os.environ)
        profile(flags.pace)
        check_flags(flags)
    except (FlagError, UnknownProfileError, ContextError) as error:
        fail(error, 2)
    for warning in flags.warnings:
        print(warning, file=sys.stderr)
    return flags


def run_app(
    backend: Backend, refresh: float | None, theme: str | None, saved: Settings | None, record: str | None = None
) -> None:
    """Open the screen on a backend until it is left; ``record`` names a file for what is seen."""
    from .app import SlotviewApp

    app = SlotviewApp(backend, refresh=_refresh(refresh, saved) or 0.25, theme=_theme(theme, saved))
    with _recorded(backend, record):
        _show(app, backend)


@contextmanager
def _recorded(backend: Backend, path: str | None) -> Iterator[None]:
    """Record a backend meanwhile, where a file is named."""
    if path is None:
        yield
        return
    from slotview.engine.backend import BackendError
    from slotview.engine.observe.recording import Tape

    try:
        tape = Tape(backend, path)
    except BackendError as error:
        fail(error, 2)
    try:
        yield
    finally:
        tape.close()
    if tape.error:
        fail(tape.error)


def _refresh(given: float | None, saved: Settings | None) -> float | None:
    """How often to look: as typed, else as configured."""
    return known_refresh(given) or (saved.refresh if saved else None)


def _theme(given: str | None, saved: Settings | None) -> str | None:
    """The theme: as typed, else as configured."""
    return known_theme(given or (saved.theme if saved else None))


def _show(app: App[Any], *backends: Backend) -> None:
    """Run an app, then close what it shows; ends with the app's code where that is not 0.

    It needs a terminal to hear keys from and to draw on, unless Textual is told to use another driver.
    """
    try:
        if "TEXTUAL_DRIVER" not in os.environ:
            if os.environ.get("TERM") in DUMB:
                fail(f"TERM={os.environ['TERM']}: no screen can be drawn on this terminal; {INSTEAD}", 2)
            if not sys.stdin.isatty():
                fail(f"its input is no terminal, so it would hear no key; {INSTEAD}", 2)
        app.run()
    finally:
        for backend in backends:
            backend.close()
    if app.return_code:
        sys.exit(app.return_code)


def start_dashboard(
    words: Sequence[str], *, listen: str | None, refresh: float | None, theme: str | None, record: str | None = None
) -> None:
    """``slotview``: the screen over the embedded engine."""
    from slotview.engine.local import LocalBackend

    saved = settings()
    flags = read_flags(words)
    if not flags.pace:
        flags = replace(flags, pace=(saved.pace if saved and saved.pace else DEFAULT_PACE))
    face: Callable[[EngineHost], None] | None = None
    if listen:
        from slotview.engine.serve.beside import listen_beside

        try:
            face = listen_beside(listen, flags)
        except OSError as error:
            fail(f"--listen {listen}: {error.strerror or error}; choose another port")
        except ValueError as error:
            fail(f"--listen {listen}: {error}", 2)
    backend = LocalBackend(flags, on_ready=face)
    run_app(backend, refresh, theme, saved, record)
    if backend.error:
        fail(backend.error)


def start_demo(words: Sequence[str], *, theme: str | None) -> None:
    """``slotview demo``: the scripted minute."""
    from slotview.engine.local import LocalBackend

    from .lessons.demo import DemoApp

    saved = settings()
    flags = read_flags([*DEFAULT_CONTEXT, *words])
    backend = LocalBackend(replace(flags, pace=flags.pace or DEFAULT_PACE))
    _show(DemoApp(backend, theme=_theme(theme, saved)), backend)


def start_attach(
    names: Sequence[str],
    options: AttachOptions,
    *,
    refresh: float | None,
    theme: str | None,
    record: str | None = None,
) -> None:
    """``slotview attach``: one server, or an overview of several."""
    saved = settings()
    backends = _remote_backends(names, options, saved)
    if len(backends) == 1:
        run_app(backends[0][1], refresh, theme, saved, record)
        return
    if record is not None:
        fail("--record keeps one server: slotview attach URL --record FILE", 2)
    from .overview import OverviewApp

    app = OverviewApp(backends, refresh=_refresh(refresh, saved) or 0.5, theme=_theme(theme, saved))
    _show(app, *(backend for _, backend in backends))


def _remote_backends(names: Sequence[str], options: AttachOptions, saved: Settings | None) -> list[tuple[str, Backend]]:
    """Make a backend for each URL or configured name; without any, for all configured servers."""

    from slotview.engine.remote.backend import RemoteBackend

    known = saved.servers if saved else {}
    if not names and not known:
        fail("attach needs a URL, for example: slotview attach http://127.0.0.1:8080", 2)
    found: list[tuple[str, Backend]] = []
    for name in names or known:
        entry = known.get(name)
        key = options.api_key or (os.environ.get(entry.api_key_env) if entry else None)
        try:
            backend = RemoteBackend(
                entry.url if entry else name,
                api_key=key,
                model=options.model or (entry.model if entry else None),
                interval=options.interval or (saved.interval if saved else None) or 1.0,
                metrics_every=options.metrics_every if options.metrics_every is not None else _metrics_every(saved),
                backoff=options.backoff,
                facts=_facts(options.file),
            )
        except ValueError as error:
            fail(error, 2)
        found.append((name if entry else backend.latest().facts.source, backend))
    return found


def _metrics_every(saved: Settings | None) -> float | None:
    return saved.metrics_every if saved else None


def _facts(path: str | None) -> ModelFacts | None:
    """Sizes from a model file, where one is given."""
    if path is None:
        return None
    from slotview.engine.loading import StartError, facts_of_file

    try:
        return facts_of_file(path)
    except StartError as error:
        fail(error, 2)


def start_once(names: Sequence[str], options: AttachOptions, *, as_json: bool) -> None:
    """``slotview attach URL --once``: one look, for scripts."""
    import json
    import os

    from slotview.engine.remote.once import snapshot_once
    from slotview.engine.remote.once_text import format_once

    if len(names) != 1:
        fail("--once looks at one server: slotview attach URL --once --json", 2)
    saved = settings()
    entry = saved.servers.get(names[0]) if saved else None
    url = entry.url if entry else names[0]
    key = options.api_key or (os.environ.get(entry.api_key_env) if entry else None)
    try:
        report, code = snapshot_once(url, api_key=key, model=options.model or (entry.model if entry else None))
    except ValueError as error:
        fail(error, 2)
    print(json.dumps(report, ensure_ascii=True) if as_json else format_once(report))
    sys.exit(code)


def start_server(words: Sequence[str]) -> None:
    """``slotview serve``: the HTTP face."""
    from slotview.engine.serve.server import serve

    flags = read_flags(words)
    code = serve(flags)
    if code:
        sys.exit(code)


def start_runner(
    words: Sequence[str],
    *,
    server_bin: str | None,
    refresh: float | None,
    theme: str | None,
    record: str | None = None,
) -> None:
    """``slotview run``: a real llama-server as our child."""
    from slotview.engine.backend import BackendError
    from slotview.engine.runner.backend import RunnerBackend

    saved = settings()
    try:
        backend = RunnerBackend(list(words), server_bin=server_bin)
    except BackendError as error:
        fail(error, 2)
    run_app(backend, refresh, theme, saved, record)


def complete_once(prompt: str, words: Sequence[str]) -> None:
    """``slotview complete``: text to stdout as it comes."""
    from slotview.engine.headless import complete
    from slotview.engine.loading import StartError

    flags = read_flags(words)
    try:
        for piece in complete(flags, prompt):
            sys.stdout.write(piece)
            sys.stdout.flush()
    except StartError as error:
        fail(error)
    sys.stdout.write("\n")


def print_plan(workload: str, slots: str, words: Sequence[str]) -> None:
    """``slotview plan``: what flags would come to under a workload."""
    from slotview.engine.lab.plan import run_plan, spread
    from slotview.engine.lab.report import format_plan
    from slotview.engine.lab.workload import WorkloadError, parse_workload
    from slotview.engine.loading import StartError, bundled_model, core_options, facts_of_file
    from slotview.engine.pace import profile

    flags = read_flags(words)
    try:
        numbers = _numbers(slots)
        asked = parse_workload(workload)
        facts = facts_of_file(flags.model or str(bundled_model()))
    except (ValueError, WorkloadError, StartError) as error:
        fail(error, 2)
    device = profile(flags.pace or DEFAULT_PACE) or profile(DEFAULT_PACE)
    result = run_plan(spread(flags.launch, numbers), asked, device, facts, options=core_options(flags))
    print(format_plan(result))


def _numbers(slots: str) -> list[int]:
    """Numbers of slots to try. Raises `ValueError`."""
    try:
        return [int(number) for number in slots.split(",")]
    except ValueError:
        raise ValueError(f"--slots {slots}: give whole numbers with commas between them, for example 1,2,4") from None


def start_replay(path: str, *, speed: float, theme: str | None) -> None:
    """``slotview replay``: a recording on the screen."""
    from slotview.engine.backend import BackendError
    from slotview.engine.observe.recording import ReplayBackend

    try:
        backend = ReplayBackend(path, speed=speed)
    except BackendError as error:
        fail(error)
    run_app(backend, None, theme, settings())
