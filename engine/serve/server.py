"""``slotview serve``: the HTTP face alone (spec §7), with llama-server's start-up and shutdown."""

from __future__ import annotations

import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..embedded.loading import StartError
from ..flags import EngineFlags
from ..model.chat.template import ChatTemplateError, render_chat
from ..pace import microseconds
from .http_server import address_of, bind, make_server
from .loader import Loader
from .printer import LogPrinter
from .state import KeyFileError, ServerState, read_keys

__all__ = ["serve"]


def serve(flags: EngineFlags) -> int:
    """Serve until a signal comes; returns the exit code."""
    started = microseconds()
    log = LogPrinter(flags, started)
    try:
        return _serve(flags, log, started)
    finally:
        log.close()


def _serve(flags: EngineFlags, log: LogPrinter, started: int) -> int:
    try:
        state = ServerState(flags, read_keys(flags), started_us=started, log=log)
        _check_save_path(flags)
        _check_template(flags)
    except (KeyFileError, StartError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    _greet(log, flags, state)
    listening = _listen(flags.http.hosts, flags.http.port, log)
    return _run(state, log, listening) if listening else 1


def _listen(hosts: Sequence[str], port: int, log: LogPrinter) -> dict[str, socket.socket]:
    """A socket for each address, or none where one of them cannot be had, which the log tells."""
    listening: dict[str, socket.socket] = {}
    for host in hosts:
        try:
            listening[host] = bind(host, port, only_v6=len(hosts) > 1)
        except OSError:
            for one in listening.values():
                one.close()
            log.line("E", f"srv         start: couldn't bind HTTP server socket, hostname: {host}, port: {port}")
            log.line("I", "srv    operator(): operator(): cleaning up before exit...")
            log.line("E", "srv  llama_server: exiting due to HTTP server error")
            return {}
    return listening


def _run(state: ServerState, log: LogPrinter, listening: Mapping[str, socket.socket]) -> int:
    """Load the model and answer requests until a signal comes; returns the exit code."""
    server = make_server(state)
    loader = Loader(state, log, server, [address_of(one, host) for host, one in listening.items()])
    loader.start()
    server.run(sockets=list(listening.values()))
    log.line("I", "srv    operator(): operator(): cleaning up before exit...")
    if state.host:
        state.host.close()
    if loader.failed:
        log.line("E", "srv  llama_server: exiting due to model loading error")
    return 1 if loader.failed else 0


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
            why = "no API key is set and CORS allows all origins"
            log.line("W", f"srv  llama_server: security: {why} (see https://github.com/ggml-org/llama.cpp/pull/25655)")
        for host in flags.http.hosts:
            if host not in ("127.0.0.1", "localhost", "::1") and not host.endswith(".sock"):
                log.line("W", f"srv  llama_server: security: {host} can be reached by others; set --api-key")
