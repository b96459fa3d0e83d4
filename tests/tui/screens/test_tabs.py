"""What shares one place on the dashboard."""

from __future__ import annotations

import pytest

from slotview.tui.screens.tabs import TABS, open_tab, tabs_of, with_counts


def test_what_is_counted_says_so_in_its_title() -> None:
    titles = [tab.title for tab in with_counts(TABS, {"requests": 0, "findings": 2})]
    assert titles == ["Requests", "Findings (2)", "Log", "Cells", "Speed"]


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
