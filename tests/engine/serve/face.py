"""The HTTP face in a thread, over a stub model or the bundled one, and a client for it."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Callable
from threading import Thread
from types import TracebackType

from msgspec.structs import replace

from slotview.engine.embedded.host import EngineHost
from slotview.engine.embedded.loading import build_core
from slotview.engine.flags import parse_flags
from slotview.engine.model.interface import Model
from slotview.engine.pace import microseconds
from slotview.engine.serve.http_server import bind, make_server
from slotview.engine.serve.state import ServerState, read_keys
from tests.engine.stub_model import StubModel

__all__ = ["HALVES", "Answer", "Face", "until"]

TEMPLATE = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
PATIENCE = 20.0
HALVES = [
    (b"GET /hea", b""),
    (b"GET /health HTTP/1.1\r\nHost: x\r\n", b"HTTP/1.1 400"),
    (b"POST /tokenize HTTP/1.1\r\nContent-Length: 9\r\n\r\n{", b"HTTP/1.1 400"),
]
"""Requests that do not go on, and how the answer begins that they get when they are given up."""


def until(seen: Callable[[], object]) -> None:
    """Wait for something that must happen soon."""
    end = time.monotonic() + PATIENCE
    while not seen():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.002)


class Answer:
    """Status, headers and body of one answer."""

    def __init__(self, answer: http.client.HTTPResponse) -> None:
        self.status = answer.status
        self.headers = answer.headers
        self.data = answer.read()
        self.text = self.data.decode("utf-8")

    @property
    def json(self) -> dict[str, object]:
        """The body as an object."""
        value = json.loads(self.text)
        assert isinstance(value, dict)
        return value

    @property
    def rows(self) -> list[dict[str, object]]:
        """The body as a list of objects."""
        value = json.loads(self.text)
        assert isinstance(value, list)
        return value

    @property
    def error(self) -> dict[str, object]:
        """The error object."""
        value = self.json["error"]
        assert isinstance(value, dict)
        return value

    @property
    def events(self) -> list[dict[str, object]]:
        """The JSON events of a stream."""
        blocks = [block.removeprefix("data: ") for block in self.text.split("\n\n") if block.startswith("data: {")]
        return [json.loads(block) for block in blocks]


class Face:
    """A server on a free port.

    ``words`` are llama-server's flags; not ``loaded`` = it stays at "loading"; ``timeout`` may be less than the whole
    seconds that ``--timeout`` takes.
    """

    def __init__(
        self,
        words: str = "-c 1024 -np 2",
        model: Model | None = None,
        *,
        loaded: bool = True,
        timeout: float | None = None,
    ) -> None:
        self.flags = parse_flags(words.split())
        if timeout is not None:
            self.flags = replace(self.flags, http=replace(self.flags.http, timeout=timeout))
        self.state = ServerState(self.flags, read_keys(self.flags))
        self._model: Model = model or StubModel()
        if isinstance(self._model, StubModel):
            self._model.tokenizer.chat_template = TEMPLATE
        self.host: EngineHost | None = None
        if loaded:
            self.load()
        listening = bind("127.0.0.1", 0)
        self.port: int = listening.getsockname()[1]
        self._server = make_server(self.state)
        self._thread = Thread(target=self._server.run, args=([listening],), daemon=True)
        self._thread.start()
        until(lambda: self._server.started)

    def load(self) -> None:
        """Let requests in."""
        self.host = EngineHost(build_core(self.flags, self._model, microseconds()))
        self.host.start()
        self.state.host = self.host

    def __enter__(self) -> Face:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        self._thread.join(10)
        if self.host:
            self.host.close()
        assert not self._thread.is_alive()

    @property
    def generated(self) -> int:
        """Tokens that the running requests have."""
        assert self.host is not None
        return self.host.look(lambda core: sum(slot.n_gen for slot in core.slots))

    def ask(self, path: str, body: object = None, method: str = "", headers: dict[str, str] | None = None) -> Answer:
        """One request on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
            connection.request(method or ("GET" if body is None else "POST"), path, data, headers or {})
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def send(self, data: bytes) -> socket.socket:
        """A connection on which these bytes were sent."""
        link = socket.create_connection(("127.0.0.1", self.port), PATIENCE)
        link.sendall(data)
        return link

    def post(self, path: str, body: object) -> socket.socket:
        """A connection on which a request was sent."""
        data = json.dumps(body).encode()
        return self.send(f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)

    @property
    def busy(self) -> int:
        """Busy slots."""
        assert self.host
        return sum(slot.is_processing for slot in self.host.core.slots)

    @property
    def has_no_connection(self) -> bool:
        """Whether all connections have been closed."""
        return not self._server.server_state.connections

    @property
    def is_quiet(self) -> bool:
        """Whether nothing runs, nothing waits and nobody is waited for."""
        assert self.host
        return self.host.core.is_idle and not self.host.core.has_work and not self.host._sinks
