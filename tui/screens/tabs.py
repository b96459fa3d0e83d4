"""Which panes of the dashboard share one place, as tabs, at which size of the screen."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ..tab_strip import Tab

__all__ = ["TABS", "open_tab", "tabs_of", "with_count"]

TABS = (
    Tab(1, "requests", "Requests"),
    Tab(2, "findings", "Findings"),
    Tab(3, "log", "Log"),
    Tab(4, "cells", "Cells"),
    Tab(5, "speed", "Speed"),
)


def tabs_of(*, narrow: bool, low: bool) -> tuple[Tab, ...]:
    """The tabs at a size: a wide screen shows the requests beside them, and, if it is also tall, the speed."""
    beside = set() if narrow else {"requests"} if low else {"requests", "speed"}
    return tuple(tab for tab in TABS if tab.name not in beside)


def open_tab(tabs: Sequence[Tab], wanted: str) -> str:
    """The name of the tab to show: the wanted one, or the first one if that is no tab at this size."""
    return wanted if any(tab.name == wanted for tab in tabs) else tabs[0].name


def with_count(tabs: Sequence[Tab], n_findings: int) -> tuple[Tab, ...]:
    """The same tabs, with the number of findings in the title."""
    title = f"Findings ({n_findings})"
    return tuple(replace(tab, title=title) if tab.name == "findings" and n_findings else tab for tab in tabs)
