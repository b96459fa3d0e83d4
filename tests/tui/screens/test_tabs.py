"""What shares one place on the dashboard."""

from __future__ import annotations

import pytest

from slotview.tui.screens.tabs import TABS, open_tab, tabs_of, with_count


def test_findings_are_counted_in_their_own_title_only() -> None:
    assert [tab.title for tab in with_count(TABS, 2)] == ["Requests", "Findings (2)", "Log", "Cells", "Speed"]
    assert with_count(TABS, 0) == TABS


@pytest.mark.parametrize(
    ("narrow", "low", "names"),
    [
        (True, True, ["requests", "findings", "log", "cells", "speed"]),
        (True, False, ["requests", "findings", "log", "cells", "speed"]),
        (False, True, ["findings", "log", "cells", "speed"]),
        (False, False, ["findings", "log", "cells"]),
    ],
)
def test_what_has_room_beside_them_is_no_tab(narrow: bool, low: bool, names: list[str]) -> None:
    tabs = tabs_of(narrow=narrow, low=low)
    assert [tab.name for tab in tabs] == names
    assert open_tab(tabs, "log") == "log"
    assert open_tab(tabs, "requests") == names[0]
