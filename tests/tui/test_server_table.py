"""The row of one server among several."""

from __future__ import annotations

import pytest

from slotview.engine.snapshot import Health, HealthState, Snapshot
from slotview.tui.server_table import ServerRow, ServerTable
from tests.widgets.looks import attached, look, many, snapshot


@pytest.mark.parametrize(
    ("of", "busy"),
    [
        (snapshot(many(10)), (2, 10)),
        (snapshot(None), (None, 4)),
    ],
)
def test_slots_count_as_they_are_shown_else_as_the_server_says(of: Snapshot, busy: tuple[int | None, int]) -> None:
    assert ServerRow.of(0, "box", look(of)).busy == busy


@pytest.mark.parametrize(("state", "tone"), [(HealthState.LOADING, "waiting"), (HealthState.REFUSED, "error")])
def test_loading_is_no_error_here_either(state: HealthState, tone: str) -> None:
    row = ServerRow.of(0, "box", look(snapshot(health=Health(state))))
    assert (f"● {state.value}", tone) in ServerTable().draw_row(row, 80)


def test_what_is_held_stands_in_one_column_also_where_the_size_is_unknown() -> None:
    rows = [ServerRow.of(0, "box", look(of)) for of in (snapshot(), attached())]
    known, unknown = ("".join(text for text, _ in ServerTable().draw_row(row, 120)) for row in rows)
    assert known.index("2 872") == unknown.index("1 077")
