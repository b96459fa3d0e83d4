"""The socket that is listened on, and uvicorn on it."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import current_thread, main_thread
from types import FrameType
from typing import Any, cast

import uvicorn
from anyio.lowlevel import checkpoint
from uvicorn.protocols.http.h11_impl import H11Protocol

from .http.closing import LINGER
from .http.protocol import Http
from .routes.app import make_app
from .state import ServerState

__all__ = ["address_of", "bind", "make_server"]

BACKLOG = 2048
SECONDS_OF_SILENCE = 10


def bind(host: str, port: int, *, only_v6: bool = False) -> socket.socket:
    """Listen on an address, or on a unix socket where the host ends in ``.sock``. Raises `OSError`.

    ``only_v6``: an address of IPv6 leaves the same port of IPv4 to another socket.
    A socket that an ended server left behind is replaced; another file, or one that somebody listens on, is not.
    """
    is_file = host.endswith(".sock")
    listening = _unix_socket(host) if is_file else _tcp_socket(host, only_v6=only_v6)
    try:
        listening.bind(host if is_file else (host, port))
    except OSError:
        listening.close()
        raise
    listening.listen(BACKLOG)
    listening.setblocking(False)
    return listening


def _unix_socket(path: str) -> socket.socket:
    if not hasattr(socket, "AF_UNIX"):
        raise OSError("this system has no unix sockets")
    if _is_left_behind(path):
        Path(path).unlink(missing_ok=True)
    return socket.socket(socket.AF_UNIX)


def _tcp_socket(host: str, *, only_v6: bool) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small answers at once only where the protocol is named
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name != "nt":
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6 and only_v6:
        listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    return listening


def _is_left_behind(path: str) -> bool:
    """Whether a unix socket stands there that nobody listens on."""
    if not hasattr(socket, "AF_UNIX"):
        return False
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            return Path(path).is_socket()
        except OSError:
            pass
    return False


def address_of(listening: socket.socket, host: str) -> str:
    """Where a bound socket is reached, as llama-server's log tells it; ``host`` as it was given to `bind`."""
    if host.endswith(".sock"):
        return f"unix://{host}"
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{listening.getsockname()[1]}"


class QuietServer(uvicorn.Server):
    """Ends by itself on SIGINT or SIGTERM, at once and with 1 on the second one, and does not raise the signal again.

    What goes wrong around sockets, such as too many of them, is a line in the server's log and no traceback.
    """

    def __init__(self, config: uvicorn.Config, state: ServerState) -> None:
        super().__init__(config)
        self._state = state
        self._told = -math.inf
        self._asked = False

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until a signal comes."""
        asyncio.get_running_loop().set_exception_handler(self._tell)
        await checkpoint()  # anyio loads its other half at its first use, which would hold up the first stream
        await super().serve(sockets)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End all connections, without an answer where there is none yet, and give those a moment that are cut off."""
        await super().shutdown(sockets)
        for connection in self.server_state.connections:
            cast(H11Protocol, connection).transport.close()
        if self.server_state.connections:
            await asyncio.sleep(2 * LINGER)

    def _tell(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log what happened, once in a while: asyncio may try again thousands of times."""
        if loop.time() - self._told > SECONDS_OF_SILENCE:
            self._told = loop.time()
            self._state.warn(": ".join(str(context[key]) for key in ("message", "exception") if key in context))

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End; whoever asks twice will not wait for open requests."""
        if self._asked:
            os.write(2, b"Received second interrupt, terminating immediately.\n")
            os._exit(1)
        self._asked = self.should_exit = True

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
    patience = state.flags.http.timeout if state.flags.http.timeout >= 0 else math.inf
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
        http=cast("type[asyncio.Protocol]", partial(Http, timeout=patience)),
    )
    return QuietServer(config, state)
