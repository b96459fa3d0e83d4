"""One look for scripts: JSON and exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from slotview.engine.remote.http.address import AddressError
from slotview.engine.remote.once import ExitCode, snapshot_once
from slotview.engine.remote.snapshot_json import SnapshotJson, as_markdown
from tests.engine.remote.recorded import HTML, IMPATIENT, healthy, recorded, slot
from tests.engine.remote.test_cases_proxies import router
from tests.fake_server import FakeServer, Reply, Routes, error_reply, json_reply, refusing_port

DOCS = Path(__file__).parents[3] / "docs" / "snapshot.md"


def all_answer(reply: Reply) -> Callable[[], Routes]:
    return lambda: dict.fromkeys(["/props", "/health", "/slots", "/metrics", "/running", "/v1/models"], reply)


@pytest.mark.parametrize(
    ("routes", "model", "code"),
    [
        (healthy, None, ExitCode.RIGHT),
        (all_answer(Reply(hang=True)), None, ExitCode.UNREACHABLE),
        (all_answer(recorded("slots_no_key_401")), None, ExitCode.KEY),
        (all_answer(HTML), None, ExitCode.FOREIGN),
        (lambda: healthy(props=recorded("props_slots_off")), None, ExitCode.SLOTS_OFF),
        (lambda: healthy(recorded("slots_off_501")), None, ExitCode.SLOTS_OFF),
        (all_answer(recorded("health_loading_503")), None, ExitCode.LOADING),
        (lambda: healthy(props=recorded("props_sleeping")), None, ExitCode.ASLEEP),
        (router, None, ExitCode.NO_MODEL),
        (router, "nope", ExitCode.NO_MODEL),
        (router, "small", ExitCode.ASLEEP),
        (router, "broken", ExitCode.FAILED),
        (router, "big", ExitCode.RIGHT),
        (lambda: healthy(error_reply(500, "boom")), None, ExitCode.FAILED),
    ],
)
def test_exit_codes(routes: Callable[[], Routes], model: str | None, code: ExitCode) -> None:
    with FakeServer(routes()) as server:
        found, exit_code = snapshot_once(server.url, model=model, seconds=5, patience=IMPATIENT)
    assert exit_code is code
    assert found["exit_code"] == int(code)
    SnapshotJson.model_validate(json.loads(json.dumps(found)))
    assert (found["slots"] is None) is (code is not ExitCode.RIGHT)


def test_a_refused_connection_is_told_at_once() -> None:
    found, code = snapshot_once(f"127.0.0.1:{refusing_port()}")
    assert code is ExitCode.UNREACHABLE
    assert found["health"]["state"] == "refused"


def test_the_values_are_those_of_the_server() -> None:
    rows = [slot(0, decoded=5), slot(1, busy=False)]
    with FakeServer(healthy(json_reply(rows), metrics=recorded("metrics_busy"))) as server:
        found, _ = snapshot_once(server.url)
    assert found["busy"] == 1
    assert found["waiting"] == {"count": 2, "why": None}
    assert found["slots"][0]["n_tokens"] == 25
    assert found["slots"][1]["n_decoded"] is None
    assert found["server"]["n_slots"] == 2
    assert found["pool"]["cells"] is None
    assert found["endpoints"]["slots"]["state"] == "ok"


def test_no_secret_is_in_it() -> None:
    with FakeServer(healthy()) as server:
        url = server.url.replace("http://", "http://me:hunter2@")
        found, _ = snapshot_once(url, api_key="k-secret")
    assert "hunter2" not in json.dumps(found)
    assert "k-secret" not in json.dumps(found)
    with pytest.raises(AddressError):
        snapshot_once("ftp://x")


def test_the_documentation_lists_every_field() -> None:
    text = DOCS.read_text()
    assert as_markdown() in text
    assert all(f"| {code.value} |" in text for code in ExitCode)
