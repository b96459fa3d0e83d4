"""Which panes of the dashboard share one place, as tabs, at which size of the screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from ..tab_strip import Tab

__all__ = ["TABS", "open_tab", "tabs_of", "with_counts"]

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


def with_counts(tabs: Sequence[Tab], counts: Mapping[str, int]) -> tuple[Tab, ...]:
    """The same tabs, with a number in the titles of those for which ``counts`` has one above 0."""
    return tuple(
        replace(tab, title=f"{tab.title} ({counts[tab.name]})") if counts.get(tab.name) else tab for tab in tabs
    )
