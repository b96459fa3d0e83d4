"""Engine, dashboard and attach need nothing that only Linux has."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.engine.remote.recorded import healthy
from tests.fake_server import FakeServer


@pytest.mark.parametrize("system", ["win32", "darwin"])
def test_both_dashboards_work_where_there_is_no_unix(system: str) -> None:
    with FakeServer(healthy()) as server:
        command = [sys.executable, "-m", "tests.without_unix", system, server.url]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
