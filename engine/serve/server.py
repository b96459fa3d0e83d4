"""``slotview serve``: the HTTP face alone (spec §7), with llama-server's start-up and shutdown."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread, current_thread, main_thread

import uvicorn

from ..context import ContextPlan
from ..events import EventBatch, EventRing, LogLine
from ..flags import EngineFlags
from ..host import EngineHost
from ..loading import StartError, build_core, load
from ..model.chat_template import ChatTemplateError, render_chat
from ..pace import microseconds, profile
from .app import make_app
from .printer import LogPrinter
from .protocol import Http
from .state import KeyFileError, ServerState, read_keys

__all__ = ["bind", "make_server", "serve"]

BACKLOG = 2048


def serve(flags: EngineFlags) -> int:
    """Serve until a signal comes; returns the exit code."""
    started = microseconds()
    log = LogPrinter(flags, started)
    try:
        state = ServerState(flags, read_keys(flags), started_us=started, log=log)
        _check_save_path(flags)
        _check_template(flags)
    except (KeyFileError, StartError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    _greet(log, flags, state)
    try:
        listening = bind(flags.http.host, flags.http.port)
    except OSError:
        place = f"hostname: {flags.http.host}, port: {flags.http.port}"
        log.line("E", f"srv         start: couldn't bind HTTP server socket, {place}")
        log.line("I", "srv    operator(): operator(): cleaning up before exit...")
        log.line("E", "srv  llama_server: exiting due to HTTP server error")
        return 1
    server = make_server(state)
    failed: list[str] = []
    loader = Thread(target=_load, args=(flags, state, log, server, listening, failed), daemon=True)
    loader.start()
    server.run(sockets=[listening])
    log.line("I", "srv    operator(): operator(): cleaning up before exit...")
    if state.host:
        state.host.close()
    if failed:
        log.line("E", "srv  llama_server: exiting due to model loading error")
    return 1 if failed else 0


def bind(host: str, port: int) -> socket.socket:
    """Listen on an address, or on a unix socket where the host ends in ``.sock``. Raises `OSError`."""
    if host.endswith(".sock"):
        if not hasattr(socket, "AF_UNIX"):
            raise OSError("this system has no unix sockets")
        Path(host).unlink(missing_ok=True)
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(host)
    else:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        # asyncio sends small answers at once only where the protocol is named
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        if os.name != "nt":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
        except OSError:
            listening.close()
            raise
    listening.listen(BACKLOG)
    listening.setblocking(False)
    return listening


class QuietServer(uvicorn.Server):
    """Ends by itself on SIGINT or SIGTERM, at once on the second one, and does not raise the signal again."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals while serving, where this is the main thread."""
        if current_thread() is not main_thread():
            yield
            return
        before = {kind: signal.signal(kind, self.handle_exit) for kind in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for kind, handler in before.items():
                signal.signal(kind, handler)


def make_server(state: ServerState) -> uvicorn.Server:
    """A uvicorn server that says nothing itself."""
    config = uvicorn.Config(
        make_app(state),
        log_config=None,
        log_level="critical",  # a stream cut off at the end is no news
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=1,
        backlog=BACKLOG,
        lifespan="off",
        ws="none",
        http=Http,
    )
    return QuietServer(config)


def _check_save_path(flags: EngineFlags) -> None:
    folder = flags.http.slot_save_path
    if folder and not Path(folder).is_dir():
        raise StartError(f"not a directory: {folder}")


def _check_template(flags: EngineFlags) -> None:
    """A template of the command line has to render a message, or nothing starts."""
    template = flags.http.chat_template
    if template in ("", "chatml"):
        return
    try:
        render_chat(template, [{"role": "user", "content": "test"}])
    except ChatTemplateError as error:
        raise StartError(f"error: the supplied chat template is not supported: {error}") from None


def _greet(log: LogPrinter, flags: EngineFlags, state: ServerState) -> None:
    """The lines before the model is loaded."""
    log.line("I", "srv  llama_server: initializing ...")
    adjust = "(adjust with the `-lv N` CLI arg)"
    log.line("I", f"cmn  common_param: common_params_print_info: verbosity = {flags.verbosity} {adjust}")
    if not state.keys:
        if flags.http.cors_origins == "*":
            log.line("W", "srv  llama_server: security: no API key is set and CORS allows all origins")
        if flags.http.host not in ("127.0.0.1", "localhost", "::1") and not flags.http.host.endswith(".sock"):
            log.line("W", f"srv  llama_server: security: {flags.http.host} can be reached by others; set --api-key")


def _load(
    flags: EngineFlags,
    state: ServerState,
    log: LogPrinter,
    server: uvicorn.Server,
    listening: socket.socket,
    failed: list[str],
) -> None:
    """Load the model behind the open socket, then let requests in."""
    name = flags.model or "the bundled model"
    log.line("I", f"srv    load_model: loading model '{name}'")
    try:
        model = load(flags)
        core = build_core(flags, model, microseconds())
        host = EngineHost(core, profile(flags.pace), EventRing(65536))
    except Exception as error:  # whatever it is, a server that never gets ready helps nobody
        why = str(error) if isinstance(error, StartError) else f"{type(error).__name__}: {error}"
        log.line("E", f"srv    load_model: failed to load model, '{name}': {why}")
        failed.append(why)
        server.should_exit = True
        return
    _print_plan(log, core.plan)
    host.start()
    Thread(target=_follow, args=(host, log), name="slotview-log", daemon=True).start()
    state.host = host
    log.line("I", "srv  llama_server: model loaded")
    log.line("I", f"srv  llama_server: listening on {_address(flags, listening)}")


def _address(flags: EngineFlags, listening: socket.socket) -> str:
    if flags.http.host.endswith(".sock"):
        return f"unix://{flags.http.host}"
    host = f"[{flags.http.host}]" if ":" in flags.http.host else flags.http.host
    return f"http://{host}:{listening.getsockname()[1]}"


def _print_plan(log: LogPrinter, plan: ContextPlan) -> None:
    for line in plan.log:
        log.line(line.level, line.prefix + line.text)
    for note in plan.notes:
        log.line("I", f"srv    load_model: note: {note}")


def _follow(host: EngineHost, log: LogPrinter) -> None:
    """Print the core's log lines as they come."""
    batch = EventBatch()
    while host.is_running:
        batch = host.ring.wait_after(batch.cursor, timeout=0.5)
        for event in batch.events:
            if isinstance(event, LogLine):
                log.line(event.level, event.text, round(event.time * 1e6))
