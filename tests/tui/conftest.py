"""How the tests of the app wait."""

from __future__ import annotations

import pytest

from tests.at_rest import wait_for_rest


@pytest.fixture(autouse=True)
def _rest(monkeypatch: pytest.MonkeyPatch) -> None:
    wait_for_rest(monkeypatch)
