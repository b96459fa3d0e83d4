"""The HTTP client for one server, and a way to cut it off from another thread."""

from __future__ import annotations

import socket
import sys
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Any

from .address import Address
from .credentials import Credentials
from .proxy import proxy_for

if TYPE_CHECKING:
    import httpx

# Where Click and Rich are installed, httpx loads its own command line as well: half of its start-up time.
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]  # None: not to be found

__all__ = ["OpenSockets", "open_client"]

_HEADERS = {"Accept-Encoding": "identity", "Cache-Control": "no-cache", "User-Agent": "slotview"}
_KEEP_ALIVE = 4.5  # the server closes after 5 idle seconds (spec §7.1)
_DEAD_AFTER = {
    "SO_KEEPALIVE": 1,
    "TCP_KEEPIDLE": 5,  # seconds of silence
    "TCP_KEEPINTVL": 5,
    "TCP_KEEPCNT": 3,
    "TCP_USER_TIMEOUT": 5000,  # ms without a sign that a question has arrived
}
_PROBES = [
    (socket.IPPROTO_TCP if name.startswith("TCP") else socket.SOL_SOCKET, getattr(socket, name), value)
    for name, value in _DEAD_AFTER.items()
    if hasattr(socket, name)
]


class OpenSockets:
    """The sockets of a client, so that another thread can end a read that would otherwise wait for ever."""

    def __init__(self) -> None:
        self._sockets: list[socket.socket] = []
        self._lock = Lock()
        self._closed = False

    def trace(self, name: str, info: dict[str, Any]) -> None:
        """Take note of each new connection (httpcore's trace extension)."""
        if name in ("connection.connect_tcp.complete", "connection.connect_unix_socket.complete"):
            with self._lock:
                self._sockets = [known for known in self._sockets if known.fileno() >= 0]
                self._sockets.append(info["return_value"].get_extra_info("socket"))
            if self._closed:
                self.cut()

    def cut(self, *, for_good: bool = False) -> None:
        """Break the connections; a waiting read ends at once. ``for_good``: later ones, too."""
        self._closed = self._closed or for_good
        with self._lock:
            for known in self._sockets:
                with suppress(OSError):
                    known.shutdown(socket.SHUT_RDWR)


def open_client(address: Address, credentials: Credentials, *, keep: int) -> httpx.Client:
    """Make a client for one server that keeps ``keep`` idle connections.

    If the other side of a kept connection has vanished (a machine that slept, a network that changed), the kernel
    finds it dead, so that nobody waits for it.
    """
    import httpx

    headers = {**_HEADERS, **credentials.headers()}
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=keep, keepalive_expiry=_KEEP_ALIVE)
    base = address.origin + address.prefix
    transport = httpx.HTTPTransport(
        verify=base.startswith("https:"),  # False saves loading the CA certificates
        uds=address.socket,
        limits=limits,
        proxy=proxy_for(address),
        socket_options=_PROBES if keep and not address.socket else None,
    )
    jar = credentials.cookies.jar()
    return httpx.Client(base_url=base, headers=headers, cookies=jar, transport=transport, trust_env=False)
