"""Recorded answers of a real server, and the routes of a healthy one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from slotview.engine.remote.backend import RemoteBackend
from slotview.engine.remote.patience import Patience
from slotview.engine.snapshot import HealthState, Snapshot
from tests.fake_server import FakeServer, Reply, Route, Routes, json_reply

__all__ = [
    "HTML",
    "IMPATIENT",
    "body",
    "from_json",
    "healthy",
    "impatient",
    "in_state",
    "metrics",
    "recorded",
    "slot",
    "text",
    "watching",
]

DATA = Path(__file__).parent / "data"
IMPATIENT = Patience(direct=0.5, metrics=0.5, pulse=0.2, slow=0.5, first_retry=0.1)
"""Shorter waits than a person needs, so that the tests are over soon."""

HTML = Reply(b"<!doctype html><title>UI</title>", content_type="text/html")


def _record(name: str) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((DATA / f"{name}.json").read_text())
    return record


def body(name: str) -> Any:
    """The recorded JSON body."""
    return _record(name)["body"]


def recorded(name: str) -> Reply:
    """A recorded answer, to be replayed."""
    record = _record(name)
    content = record["body_text"] if "body_text" in record else json.dumps(record["body"], separators=(",", ":"))
    headers = {key: value for key, value in record["headers"].items() if key == "process-start-time-unix"}
    return Reply(content.encode(), record["status"], record["headers"]["content-type"], headers)


def text(content: str, status: int = 200) -> Reply:
    """An answer of plain text."""
    return Reply(content.encode(), status, "text/plain")


def metrics(**values: float | str) -> Reply:
    """A /metrics body of a few values."""
    return text("".join(f"llamacpp:{name} {value}\n" for name, value in values.items()))


def from_json(content: str) -> Reply:
    """An answer given as JSON text."""
    return Reply(content.encode())


def slot(id_: int = 0, *, busy: bool = True, task: int = 7, decoded: int = 0, **more: Any) -> dict[str, Any]:
    """A slot object of b11434 without its parameters."""
    token = {"has_next_token": busy, "has_new_line": False, "n_remain": -1, "n_decoded": decoded}
    return {
        "id": id_,
        "n_ctx": 1024,
        "speculative": False,
        "is_processing": busy,
        "id_task": task,
        "n_prompt_tokens": 20 + decoded,
        "n_prompt_tokens_processed": 20,
        "n_prompt_tokens_cache": 0,
        "next_token": [token],
        **more,
    }


def healthy(slots: Route | None = None, **routes: Route) -> Routes:
    """A b11434 server with /metrics whose ``slots`` (and other endpoints by name) answer as given."""
    return {
        "/props": json_reply({**body("props"), "build_info": "b11434-0123abcd"}),
        "/health": recorded("health_ok"),
        "/slots": recorded("slots_fresh") if slots is None else slots,
        "/metrics": recorded("metrics_fresh"),
        "/v1/models": recorded("models"),
        **{f"/{name}": route for name, route in routes.items()},
    }


@contextmanager
def watching(server: FakeServer | str, **options: Any) -> Iterator[RemoteBackend]:
    """A started backend on a server."""
    backend = RemoteBackend(server if isinstance(server, str) else server.url, **{"interval": 0.1, **options})
    backend.start()
    try:
        yield backend
    finally:
        backend.close()


def impatient(server: FakeServer | str, **options: Any) -> AbstractContextManager[RemoteBackend]:
    """The same, with shorter waits."""
    return watching(server, **{"patience": IMPATIENT, **options})


def first_look(server: FakeServer, **options: Any) -> Snapshot:
    """Watch until the slots and the counters have answered or said no."""
    with watching(server, **options) as backend:
        return backend.wait_until(has_looked, 5)


def in_state(state: HealthState) -> Callable[[Snapshot], bool]:
    """Whether the verdict is this one."""
    return lambda snapshot: snapshot.health.state is state


def has_looked(snapshot: Snapshot) -> bool:
    """Whether /slots was read, and /metrics was or will not be."""
    ends = snapshot.facts.endpoints
    return snapshot.slots is not None and ends["metrics"].state.value != "not asked"
