"""The client of a scenario: it asks, waits for what it can see, and records the answers."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Callable, Sequence
from typing import Any

from .answers import Events, parsed
from .in_flight import PATIENCE, Running, Stream, UnseenError
from .normal import Plain, plain, plain_events, plain_metrics
from .servers import Server

__all__ = ["GREEDY", "Client"]

Body = dict[str, object]
Slots = list[dict[str, object]]
GREEDY: Body = {"temperature": 0}
HEADERS = (
    "Content-Type", "Server", "Connection", "Keep-Alive", "Access-Control-Allow-Origin", "X-Accel-Buffering",
    "Access-Control-Allow-Methods", "Access-Control-Allow-Headers", "Access-Control-Allow-Credentials",
)  # fmt: skip


class Client:
    """Talks to one server. ``transcript`` holds pairs of step and answer, in the order of the scenario's lines.

    ``n_completed``: completions answered so far, apart from those in the background.
    """

    def __init__(self, server: Server) -> None:
        self.server = server
        self.transcript: list[tuple[str, Plain]] = []
        self.n_completed = 0
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
        answer = parsed(heads.get("Content-Type") or "", text)
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
            text = answer.read().decode("utf-8", "replace")
            self.n_completed += answer.status == http.client.OK and path.endswith(("completion", "completions"))
            return answer.status, heads, text
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
        """Send bytes, perhaps close that direction, and record the status, headers that matter and the body."""
        with socket.create_connection(("127.0.0.1", self.server.port), PATIENCE) as link:
            link.sendall(data)
            if half_closed:
                link.shutdown(socket.SHUT_WR)
            answer = http.client.HTTPResponse(link)
            answer.begin()
            text = answer.read().decode("utf-8", "replace")
            heads = {name: answer.headers[name] for name in HEADERS}
            self.note(step, {"status": answer.status, "headers": heads})
            self.note(step, parsed(heads["Content-Type"] or "", text))

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
        """Read /slots without recording it."""
        slots: Slots = json.loads(self.fetch("/slots")[2])
        return slots

    def gauge(self, name: str) -> float:
        """Read a value of /metrics without recording it."""
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
        """Wait for a number of deferred tasks; fails once nothing runs that they could be waiting for."""
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


def _completion(prompt: object, n: int, fields: dict[str, object]) -> Body:
    start = {} if prompt is None else {"prompt": prompt}
    return {**start, "n_predict": n, **GREEDY, "return_tokens": True, **fields}


def _decoded(slot: dict[str, object]) -> bool:
    token = slot.get("next_token")
    return bool(slot["is_processing"] and isinstance(token, list) and token[0]["n_decoded"])
