"""A small server on 127.0.0.1 that replays bytes, waits, hangs, drops or cuts off: a llama-server on its bad days."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from types import TracebackType
from urllib.parse import parse_qsl, unquote

__all__ = ["NOT_FOUND", "FakeServer", "Reply", "Request", "Routes", "error_reply", "json_reply", "refusing_port"]


@dataclass(frozen=True)
class Request:
    """What a client asked."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    time: float

    @property
    def json(self) -> object:
        """Its body, parsed."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Reply:
    """What to answer. ``raw`` replaces the whole answer; ``hang`` never answers; ``drop`` closes without an answer.

    ``delay`` seconds pass before the first byte. With ``parts`` the body comes in chunks, ``gap`` seconds apart, and
    with ``cut`` the connection breaks after the last of them.
    """

    body: bytes = b""
    status: int = 200
    content_type: str = "application/json; charset=utf-8"
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    hang: bool = False
    drop: bool = False
    delay: float = 0.0
    parts: Sequence[bytes] = ()
    gap: float = 0.0
    cut: bool = False


Route = Reply | Sequence[Reply] | Callable[[Request], Reply]
Routes = dict[str, Route]


def json_reply(value: object, status: int = 200) -> Reply:
    """An answer of compact JSON."""
    return Reply(json.dumps(value, separators=(",", ":")).encode(), status)


def error_reply(status: int, message: str, kind: str = "") -> Reply:
    """An error object in llama-server's form."""
    return json_reply({"error": {"code": status, "message": message, "type": kind}}, status)


NOT_FOUND = error_reply(404, "File Not Found", "not_found_error")


class FakeServer:
    """Serves ``routes``: a path to a reply, to several in turn (the last one stays), or to a function of the request.

    ``requests`` lists what was asked; ``most_open`` the most requests that were open at once, per path. Connections
    are closed after ``max_requests`` answers or ``idle_seconds`` without one, as llama-server does (spec §7.1).
    """

    def __init__(
        self,
        routes: Routes,
        *,
        default: Reply = NOT_FOUND,
        port: int = 0,
        socket_path: Path | None = None,
        max_requests: int = 100,
        idle_seconds: float = 5.0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.routes = routes
        self.default = default
        self.requests: list[Request] = []
        self.connections = 0
        self.most_open: Counter[str] = Counter()
        self._open: Counter[str] = Counter()
        self._turns: Counter[str] = Counter()
        self._max_requests = max_requests
        self._idle_seconds = idle_seconds
        self._tls = tls
        self._changed = threading.Condition()
        self._stopped = threading.Event()
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._listener = self._listen(port, socket_path)
        self.port: int = 0 if socket_path else self._listener.getsockname()[1]
        self.url = f"unix://{socket_path}" if socket_path else f"http{'s' if tls else ''}://127.0.0.1:{self.port}"
        self._spawn(self._accept)

    @staticmethod
    def _listen(port: int, socket_path: Path | None) -> socket.socket:
        if socket_path is not None:
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(str(socket_path))
        else:
            listener = socket.socket()
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", port))
        listener.listen(64)
        return listener

    def __enter__(self) -> FakeServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Refuse new connections and break the open ones."""
        self._stopped.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._changed:
            sockets, threads = list(self._sockets), list(self._threads)
        for known in sockets:
            with suppress(OSError):
                known.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join(2)

    def asked(self, path: str) -> list[Request]:
        """The requests for one path so far."""
        with self._changed:
            return [request for request in self.requests if request.path == path]

    def now_open(self, path: str) -> int:
        """How many requests for one path are open."""
        with self._changed:
            return self._open[path]

    def wait_for(self, path: str, count: int = 1, seconds: float = 5.0) -> list[Request]:
        """Wait until a path was asked ``count`` times."""
        with self._changed:
            if not self._changed.wait_for(lambda: sum(r.path == path for r in self.requests) >= count, seconds):
                seen = Counter(request.path for request in self.requests)
                raise AssertionError(f"{path} was not asked {count} times within {seconds} s, but {dict(seen)}")
        return self.asked(path)

    # One thread accepts, one more serves each connection

    def _spawn(self, work: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=work, args=args, daemon=True)
        with self._changed:
            self._threads = [known for known in self._threads if known.is_alive() or known.ident is None]
            self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._stopped.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._changed:
                self.connections += 1
                self._sockets = [known for known in self._sockets if known.fileno() >= 0]
                self._sockets.append(connection)
            self._spawn(self._serve, connection)

    def _serve(self, accepted: socket.socket) -> None:
        with suppress(OSError), self._secured(accepted) as connection, connection.makefile("rb") as lines:
            for count in range(1, self._max_requests + 1):
                connection.settimeout(self._idle_seconds)
                request = _read_request(lines)
                if request is None or not self._answer(connection, request, last=count == self._max_requests):
                    return

    def _secured(self, connection: socket.socket) -> socket.socket:
        return self._tls.wrap_socket(connection, server_side=True) if self._tls else connection

    def _answer(self, connection: socket.socket, request: Request, *, last: bool) -> bool:
        """Answer one request; False where the connection ends with it."""
        with self._changed:
            reply = self._choose(request)
            self.requests.append(request)
            self._open[request.path] += 1
            self.most_open[request.path] = max(self.most_open[request.path], self._open[request.path])
            self._changed.notify_all()
        try:
            return self._send(connection, reply, last=last)
        finally:
            with self._changed:
                self._open[request.path] -= 1

    def _choose(self, request: Request) -> Reply:
        route = self.routes.get(request.path, self.default)
        if isinstance(route, Reply):
            return route
        if callable(route):
            return route(request)
        turn = min(self._turns[request.path], len(route) - 1)
        self._turns[request.path] += 1
        return route[turn]

    def _send(self, connection: socket.socket, reply: Reply, *, last: bool) -> bool:
        if reply.hang or reply.delay:
            _wait_for_end(connection, self._stopped, None if reply.hang else reply.delay)
        if reply.hang or reply.drop:
            return False
        connection.settimeout(10)
        if reply.raw is not None:
            connection.sendall(reply.raw)
            return False
        close = last or reply.status >= 400 or bool(reply.parts)
        head = _head(reply, close=close)
        if not reply.parts:
            connection.sendall(head + reply.body)  # in one piece, else the client waits 40 ms for the second
            return not close
        connection.sendall(head)
        for part in reply.parts:
            connection.sendall(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            if reply.gap and _wait_for_end(connection, self._stopped, reply.gap):
                return False
        if not reply.cut:
            connection.sendall(b"0\r\n\r\n")
        return False


def _wait_for_end(connection: socket.socket, stopped: threading.Event, seconds: float | None) -> bool:
    """Wait that long, or until the client or the server is gone; return whether one is."""
    end = None if seconds is None else time.monotonic() + seconds
    while not stopped.is_set():
        left = 0.05 if end is None else min(0.05, end - time.monotonic())
        if left <= 0:
            return False
        connection.settimeout(left)
        try:
            if not connection.recv(1, socket.MSG_PEEK):
                return True
        except TimeoutError:
            continue
        stopped.wait(left)
    return True


def _read_request(lines: BufferedReader) -> Request | None:
    start = lines.readline().decode("latin-1").split()
    if len(start) != 3:
        return None
    headers = {}
    for line in lines:
        if line in (b"\r\n", b"\n"):
            break
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    length = int(headers.get("content-length", "0"))
    body = lines.read(length) if length else b""
    path, _, query = start[1].partition("?")
    params = dict(parse_qsl(query, keep_blank_values=True))
    return Request(start[0], unquote(path), params, headers, body, time.monotonic())


def _head(reply: Reply, *, close: bool) -> bytes:
    headers = {"Server": "llama.cpp", "Content-Type": reply.content_type, **reply.headers}
    headers |= {"Transfer-Encoding": "chunked"} if reply.parts else {"Content-Length": str(len(reply.body))}
    headers |= {"Connection": "close"} if close else {"Keep-Alive": "timeout=5, max=100"}
    lines = [f"HTTP/1.1 {reply.status} Status", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def refusing_port() -> int:
    """A port of this machine on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
