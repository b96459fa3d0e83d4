"""The client of a scenario: it asks, waits for what can be seen, and records what was answered."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Callable, Sequence
from threading import Thread
from typing import Any

from .normal import Plain, plain, plain_events, plain_metrics
from .servers import Server

__all__ = ["GREEDY", "Client", "Running", "Stream", "UnseenError"]

Body = dict[str, object]
Slots = list[dict[str, object]]
GREEDY: Body = {"temperature": 0}
HEADERS = (
    "Content-Type", "Server", "Connection", "Keep-Alive", "Access-Control-Allow-Origin", "X-Accel-Buffering",
    "Access-Control-Allow-Methods", "Access-Control-Allow-Headers", "Access-Control-Allow-Credentials",
)  # fmt: skip
PATIENCE = 60.0


class UnseenError(AssertionError):
    """What a scenario waits for did not happen."""


class Client:
    """Talks to one server. ``transcript`` holds (step, answer) in the order of the scenario's lines."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.transcript: list[tuple[str, Plain]] = []
        self._open: list[Stream] = []

    def note(self, step: str, value: object, leave_out: Sequence[str] = ()) -> None:
        """Record something to compare."""
        self.transcript.append((step, plain(value, "", tuple(leave_out))))

    # asking

    def ask(
        self,
        path: str,
        body: object = None,
        *,
        method: str = "",
        headers: dict[str, str] | None = None,
        leave_out: Sequence[str] = (),
        step: str = "",
    ) -> object:
        """Ask and record status, headers that matter and body; returns the JSON body, or the text."""
        status, heads, text = self.fetch(path, body, method=method, headers=headers)
        answer = _parsed(heads.get("Content-Type") or "", text)
        if isinstance(answer, Events):  # how a stream's connection ends is a scenario of its own
            heads = {key: value for key, value in heads.items() if key not in ("Connection", "Keep-Alive")}
        shown = plain_metrics(text) if path.endswith("/metrics") and status == 200 else plain(answer)
        if isinstance(answer, Events):
            shown = plain_events(list(answer), tuple(leave_out))
        elif leave_out:
            shown = plain(answer, "", tuple(leave_out))
        name = step or f"{method or ('GET' if body is None else 'POST')} {path}"
        self.transcript.append((name, {"status": status, "headers": heads, "body": shown}))
        return answer

    def fetch(
        self, path: str, body: object = None, *, method: str = "", headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str | None], str]:
        """Ask without recording: status, headers that matter, text."""
        connection = self._connection()
        try:
            data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
            connection.request(method or ("GET" if body is None else "POST"), path, data, headers or {})
            answer = connection.getresponse()
            heads = {name: answer.headers[name] for name in HEADERS}
            return answer.status, heads, answer.read().decode("utf-8", "replace")
        finally:
            connection.close()

    def complete(
        self, prompt: object, n: int = 4, *, leave_out: Sequence[str] = (), step: str = "", **fields: Any
    ) -> Body:
        """Greedy completion of ``n`` tokens, recorded; returns the answer."""
        answer = self.ask("/completion", _completion(prompt, n, fields), leave_out=leave_out, step=step)
        return answer if isinstance(answer, dict) else {}

    def start(self, prompt: object, n: int = 4, *, path: str = "/completion", **fields: Any) -> Running:
        """Begin a completion in the background."""
        return Running(self, path, _completion(prompt, n, fields))

    def open(self, prompt: object, n: int = 4, *, path: str = "/completion", **fields: Any) -> Stream:
        """Begin a stream, to be read or dropped."""
        stream = Stream(self._connection(), path, _completion(prompt, n, fields | {"stream": True}))
        self._open.append(stream)
        return stream

    def raw(self, data: bytes, step: str = "raw", *, half_closed: bool = False) -> None:
        """Send bytes, perhaps say that no more will come, and record the status line and the body."""
        with socket.create_connection(("127.0.0.1", self.server.port), PATIENCE) as link:
            link.sendall(data)
            if half_closed:
                link.shutdown(socket.SHUT_WR)
            answer = http.client.HTTPResponse(link)
            answer.begin()
            text = answer.read().decode("utf-8", "replace")
            heads = {name: answer.headers[name] for name in HEADERS}
            self.note(step, {"status": answer.status, "headers": heads})
            self.note(step, _parsed(heads["Content-Type"] or "", text))

    def _connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=PATIENCE)

    # looking

    def slots(self) -> Slots:
        """Record /slots."""
        answer = self.ask("/slots")
        return answer if isinstance(answer, list) else []

    def metrics(self) -> None:
        """Record /metrics."""
        self.ask("/metrics")

    def look(self) -> Slots:
        """/slots without recording it."""
        slots: Slots = json.loads(self.fetch("/slots")[2])
        return slots

    def gauge(self, name: str) -> float:
        """A value of /metrics without recording it."""
        for line in self.fetch("/metrics")[2].splitlines():
            if line.startswith(f"llamacpp:{name} "):
                return float(line.split()[1])
        raise UnseenError(f"no metric {name}")

    # waiting

    def until(self, what: str, seen: Callable[[], object]) -> None:
        """Wait until something can be seen."""
        end = time.monotonic() + PATIENCE
        while not seen():
            if time.monotonic() > end:
                raise UnseenError(f"{self.server.name}: never saw {what}")
            time.sleep(0.005)

    def until_busy(self, count: int) -> None:
        """Wait for a number of busy slots."""
        self.until(f"{count} busy slots", lambda: sum(bool(slot["is_processing"]) for slot in self.look()) == count)

    def until_generating(self, *ids: int) -> None:
        """Wait until these slots have sampled a token."""
        self.until(f"slots {ids} generating", lambda: all(_decoded(self.look()[number]) for number in ids))

    def until_deferred(self, count: int) -> None:
        """Wait for a number of waiting tasks; nobody waits any more once all that could hold them up is over."""
        what = f"{count} deferred"

        def seen() -> bool:
            if self.gauge("requests_deferred") == count:
                return True
            if not self.gauge("requests_processing"):
                raise UnseenError(f"{self.server.name}: too late for {what}")
            return False

        self.until(what, seen)

    def until_idle(self) -> None:
        """Wait until nothing runs and nothing waits."""
        self.until("idle", lambda: not self.gauge("requests_processing") and not self.gauge("requests_deferred"))

    def close(self) -> None:
        """Drop what is still open."""
        for stream in self._open:
            stream.drop()


class Running:
    """A request in the background."""

    def __init__(self, client: Client, path: str, body: Body) -> None:
        self._client = client
        self._path = path
        self._body = body
        self._answer: tuple[int, dict[str, str | None], str] | Exception | None = None
        self.ended = 0.0
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._answer = self._client.fetch(self._path, self._body)
        except (OSError, http.client.HTTPException) as error:
            self._answer = error
        self.ended = time.monotonic()

    def end(self, step: str = "", *, leave_out: Sequence[str] = ()) -> object:
        """Wait for the answer and record it."""
        self._thread.join(PATIENCE)
        if not isinstance(self._answer, tuple):
            raise UnseenError(f"{self._client.server.name}: no answer: {self._answer}")
        status, heads, text = self._answer
        answer = _parsed(heads["Content-Type"] or "", text)
        self._client.note(step or f"end of {self._path}", {"status": status, "body": answer}, leave_out)
        return answer

    @property
    def is_over(self) -> bool:
        """Whether the answer has come."""
        return self._answer is not None


class Stream:
    """An event stream that is read bit by bit."""

    def __init__(self, connection: http.client.HTTPConnection, path: str, body: Body) -> None:
        self._connection = connection
        connection.request("POST", path, json.dumps(body).encode())
        self._answer: http.client.HTTPResponse | None = None

    def status(self) -> int:
        """Wait for the head."""
        if self._answer is None:
            self._answer = self._connection.getresponse()
        return self._answer.status

    def take(self, count: int) -> list[object]:
        """Read that many events."""
        self.status()
        assert self._answer is not None
        found: list[object] = []
        while len(found) < count:
            line = self._answer.readline()
            if not line:
                break
            if line.startswith(b"data: "):
                found.append(_event(line.decode("utf-8", "replace").strip()))
        return found

    def rest(self) -> list[object]:
        """Read to the end."""
        return self.take(1_000_000)

    def drop(self) -> None:
        """Go away without reading on."""
        link = self._connection.sock or getattr(self._answer, "fp", None)
        if isinstance(link, socket.socket):
            link.close()
        if self._answer is not None:
            self._answer.close()
        self._connection.close()


class Events(list[object]):
    """Events of a whole stream."""


def _completion(prompt: object, n: int, fields: dict[str, object]) -> Body:
    start = {} if prompt is None else {"prompt": prompt}
    return {**start, "n_predict": n, **GREEDY, "return_tokens": True, **fields}


def _decoded(slot: dict[str, object]) -> bool:
    token = slot.get("next_token")
    return bool(slot["is_processing"] and isinstance(token, list) and token[0]["n_decoded"])


def _event(text: str) -> object:
    content = text.removeprefix("data: ")
    try:
        return json.loads(content)
    except ValueError:
        return content


def _parsed(kind: str, text: str) -> object:
    if kind.startswith("text/event-stream"):
        return Events(_event(block) for block in text.split("\n\n") if block)
    if "json" in kind:
        try:
            return json.loads(text)
        except ValueError:
            return f"not JSON: {text}"
    return text
