"""One HTTP connection to a server: small GETs with a limit in size, a quiet retry, and a way to cut them off."""

from __future__ import annotations

import re
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from threading import Lock
from typing import TYPE_CHECKING, Any

from ..plain import plain
from .address import Address, Secret
from .proxy import proxy_for

if TYPE_CHECKING:
    import httpx

# Where Click and Rich are installed, httpx loads its own command line as well: half of its start-up time.
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]  # None: not to be found

__all__ = ["MAX_BODY", "UNREAD", "Answer", "Fault", "Grip", "Wire", "fault_of", "open_client", "transport_errors"]

MAX_BODY = 8 * 1024 * 1024
_OPENSSL_MARKS = re.compile(r"\[[^]]*\] | ?\(_ssl\.c:\d+\)")
_KEEP_ALIVE = 4.5  # the server closes after 5 idle seconds (spec §7.1)
_DEAD_AFTER = {
    "SO_KEEPALIVE": 1,
    "TCP_KEEPIDLE": 5,  # seconds of silence
    "TCP_KEEPINTVL": 5,
    "TCP_KEEPCNT": 3,
    "TCP_USER_TIMEOUT": 5000,  # ms without a word that a question has arrived
}
_PROBES = [
    (socket.IPPROTO_TCP if name.startswith("TCP") else socket.SOL_SOCKET, getattr(socket, name), value)
    for name, value in _DEAD_AFTER.items()
    if hasattr(socket, name)
]
_LONGEST_PAUSE = 3600.0  # seconds a server's Retry-After is honoured for


class Fault(StrEnum):
    """Why there is no answer."""

    REFUSED = "connection refused"
    CONNECT = "no connection"
    NAME = "host name not found"
    UNREACHABLE = "host not reachable"
    TIMEOUT = "no answer"
    DROPPED = "connection dropped"
    TLS = "no secure connection"
    TOO_LARGE = "answer too large"
    SLOW = "answer too slow"
    NOT_HTTP = "no HTTP"
    GARBLED = "answer cannot be read"
    OTHER = "error"


UNREAD = (Fault.TOO_LARGE, Fault.SLOW, Fault.GARBLED)
"""Faults of an answer that came, or began to, and so of a server that is there."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: a status and body, or a fault with one line about it. ``seconds``: from asking to the end."""

    status: int = 0
    body: bytes = b""
    fault: Fault | None = None
    message: str = ""
    seconds: float = 0.0
    start_mark: str | None = None  # Process-Start-Time-Unix, the same as long as the server runs
    pointer: str = ""  # where a redirect leads, or how a 401 wants to be convinced
    pause: float | None = None  # seconds after which to ask again, where the server says so (Retry-After)


class Grip:
    """Holds the sockets of a client, so that another thread can end a wait that has no end of its own."""

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


def open_client(address: Address, authorization: Secret | None, *, keep: int) -> httpx.Client:
    """A client for one server that keeps ``keep`` idle connections. A kept one of which the other side has vanished (a
    machine that slept, a network that changed) is found dead by the kernel instead of being waited for.
    """
    import httpx

    headers = {"Accept-Encoding": "identity", "User-Agent": "slotview"}
    if authorization is not None:
        headers["Authorization"] = authorization.reveal()
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=keep, keepalive_expiry=_KEEP_ALIVE)
    base = address.origin + address.prefix
    transport = httpx.HTTPTransport(
        verify=base.startswith("https:"),  # False spares reading the certificates of the whole world
        uds=address.socket,
        limits=limits,
        proxy=proxy_for(address),
        socket_options=_PROBES if keep and not address.socket else None,
    )
    return httpx.Client(base_url=base, headers=headers, transport=transport, trust_env=False)


def transport_errors() -> tuple[type[Exception], ...]:
    """What a request may raise: also for a client that cannot be made, as with a proxy of an unknown kind."""
    import httpx

    return httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError, ValueError, ImportError


def fault_of(error: Exception) -> tuple[Fault, str]:
    """Sort a transport error, with one line that carries no secret."""
    import httpx

    text = str(error)
    lower = text.lower()
    if isinstance(error, httpx.TimeoutException):
        return Fault.TIMEOUT, "no answer in time"
    if isinstance(error, httpx.ConnectError):
        return _connect_fault(lower), plain(_OPENSSL_MARKS.sub("", text), 160)
    if isinstance(error, FileNotFoundError):
        return Fault.TLS, "SSL_CERT_FILE names no certificate file"
    if isinstance(error, ImportError):
        return Fault.OTHER, "a SOCKS proxy is not spoken here; unset ALL_PROXY, or add the host to NO_PROXY"
    if isinstance(error, httpx.RemoteProtocolError):
        return _protocol_fault(lower)
    if isinstance(error, httpx.ReadError | httpx.WriteError):
        return Fault.DROPPED, "the connection was dropped"
    return Fault.OTHER, plain(text or type(error).__name__, 160)


def _protocol_fault(lower: str) -> tuple[Fault, str]:
    """What came was not HTTP, ended too early, or broke HTTP's rules."""
    if lower.startswith("illegal "):
        return Fault.NOT_HTTP, "something that is no HTTP"
    if "complete message body" in lower:
        return Fault.DROPPED, "the answer was cut off"
    if "disconnected" in lower:
        return Fault.DROPPED, "the connection was dropped"
    return Fault.GARBLED, f"no valid HTTP ({plain(lower, 80)})"


def _connect_fault(lower: str) -> Fault:
    if any(word in lower for word in ("ssl", "certificate", "tls")):
        return Fault.TLS
    if any(word in lower for word in ("name or service", "nodename", "getaddrinfo", "name resolution", "no address")):
        return Fault.NAME
    if "unreachable" in lower or "no route" in lower:
        return Fault.UNREACHABLE
    return Fault.REFUSED if "refused" in lower else Fault.CONNECT


class Wire:
    """GETs over one connection, from one thread; `cut` and `close` from any.

    ``keep`` the connection open between questions only where they follow each other closely: for as long as it is
    open, it holds one of the few threads with which llama-server answers (8 for four slots).
    """

    def __init__(self, address: Address, authorization: Secret | None, *, keep: bool = True) -> None:
        self._keep = keep
        self._address = address
        self._authorization = authorization
        self._client: httpx.Client | None = None
        self._grip = Grip()

    def get(
        self, path: str, params: dict[str, str], read_seconds: float, arrives: Callable[[], None] = lambda: None
    ) -> Answer:
        """Ask once; where the kept connection turns out to be dropped, once more on a fresh one.

        ``arrives`` is called when the head of an answer is there, which may be long before its end.
        """
        begin = time.monotonic()
        answer = self._ask(path, params, read_seconds, arrives)
        if answer.fault is Fault.DROPPED:
            answer = self._ask(path, params, read_seconds, arrives)
        return replace(answer, seconds=time.monotonic() - begin)

    def _ask(self, path: str, params: dict[str, str], read_seconds: float, arrives: Callable[[], None]) -> Answer:
        import httpx

        has_begun = False
        timeout = httpx.Timeout(read_seconds, connect=min(4.0, read_seconds))
        extensions = {"trace": self._grip.trace}
        try:
            if self._client is None:
                self._client = open_client(self._address, self._authorization, keep=int(self._keep))
            with self._client.stream("GET", path, params=params, timeout=timeout, extensions=extensions) as response:
                has_begun = True
                arrives()
                return _read(response, time.monotonic() + 2 * read_seconds)
        except httpx.DecodingError:
            return Answer(fault=Fault.GARBLED, message="an answer that cannot be unpacked")
        except transport_errors() as error:
            fault, message = fault_of(error)
            if has_begun and fault is Fault.TIMEOUT:
                fault, message = Fault.SLOW, "the answer stopped in the middle"
            return Answer(fault=fault, message=message)

    def cut(self) -> None:
        """Break the present wait; `get` then asks once more."""
        self._grip.cut()

    def close(self) -> None:
        """Break the present wait and every later one."""
        self._grip.cut(for_good=True)

    def dispose(self) -> None:
        """Free the connection, from the thread that used it."""
        if self._client is not None:
            self._client.close()


def _read(response: httpx.Response, deadline: float) -> Answer:
    """Read a body up to the limit and the deadline; what goes beyond costs the connection, not the memory."""
    announced = response.headers.get("content-length", "")
    parts: list[bytes] = []
    size = int(announced) if announced.isdigit() else 0
    if size <= MAX_BODY:
        size = 0
        for part in response.iter_bytes():
            size += len(part)
            if size > MAX_BODY:
                break
            if time.monotonic() > deadline:
                return Answer(fault=Fault.SLOW, message="the answer trickles in too slowly")
            parts.append(part)
    if size > MAX_BODY:
        return Answer(response.status_code, fault=Fault.TOO_LARGE, message=f"answer over {MAX_BODY // 2**20} MB")
    headers = response.headers
    pointer = headers.get("location" if response.status_code < 400 else "www-authenticate", "")
    mark = headers.get("process-start-time-unix")
    pause = headers.get("retry-after", "")
    return Answer(
        response.status_code,
        b"".join(parts),
        start_mark=mark,
        pointer=pointer,
        pause=min(float(pause), _LONGEST_PAUSE) if pause.isdecimal() else None,
    )
