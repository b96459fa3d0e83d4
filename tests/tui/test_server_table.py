"""The row of one server among several."""

from __future__ import annotations

import pytest

from slotview.engine.snapshot import Snapshot
from slotview.tui.server_table import ServerRow
from tests.widgets.looks import look, many, snapshot


@pytest.mark.parametrize(
    ("of", "busy"),
    [
        (snapshot(many(10)), (2, 10)),
        (snapshot(None), (None, 4)),
    ],
)
def test_slots_count_as_they_are_shown_else_as_the_server_says(of: Snapshot, busy: tuple[int | None, int]) -> None:
    assert ServerRow.of(0, "box", look(of)).busy == busy
