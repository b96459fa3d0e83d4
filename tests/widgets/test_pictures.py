"""Pictures of all live widgets together; look at a changed one before taking it over."""

from typing import Protocol, cast

import pytest
from textual.widget import Widget

from slotview.engine.events import PoolFull, Purged, TaskStarted
from slotview.engine.observe.observation import Finding, Observation
from slotview.engine.snapshot import Health, HealthState, Snapshot
from slotview.widgets.busy_panel import BusyPanel
from slotview.widgets.findings_list import FindingsList
from slotview.widgets.header_bar import HeaderBar
from slotview.widgets.kv_map import KvMap
from slotview.widgets.log_view import LogView
from slotview.widgets.look import Look
from slotview.widgets.pool_bar import PoolBar
from slotview.widgets.request_list import RequestList
from slotview.widgets.slot_table import SlotTable
from slotview.widgets.speed_chart import SpeedChart
from slotview.widgets.waiting_panel import WaitingPanel
from tests.widgets.host import Host
from tests.widgets.looks import NOW, RATES, attached, history, look, snapshot
from tests.widgets.test_request_list import ALL

FOUND = Finding("idle", "3 requests wait while slot 3 is idle", "task 15 asked for slot 0", "leave id_slot out")
EVENTS = (TaskStarted(NOW, 0, 12, 0.0, 24), Purged(NOW, 3, 310), PoolFull(NOW, 4))
KINDS = (HeaderBar, SlotTable, PoolBar, BusyPanel, WaitingPanel, SpeedChart, RequestList, FindingsList, LogView, KvMap)
SICK = Health(HealthState.STALLED, "no answer from /slots for 37 s: a long prompt, or stuck", "wait, or restart it")
LOOKS = {"busy": snapshot(), "sick": attached(health=SICK, slots_at=NOW - 37.4)}


class Comparing(Protocol):
    """The plugin's fixture."""

    def __call__(self, app: Host, *, terminal_size: tuple[int, int]) -> bool:
        """Compare the app's picture with the one that is kept."""


class Gallery(Host):
    """All widgets, each with a height of its own."""

    CSS = "SlotTable, RequestList, FindingsList, LogView, KvMap { height: 8; } SpeedChart { height: 9; }"

    def __init__(self, of: Snapshot, theme: str) -> None:
        super().__init__(cast("list[Widget]", [kind() for kind in KINDS]))
        self.look: Look = look(
            of,
            requests=ALL,
            events=EVENTS,
            observation=Observation(RATES, 1900.0, 24.2, history(break_at=60), (FOUND,)),
            frozen=not of.health.is_live,
        )
        self.theme = theme

    def on_ready(self) -> None:
        for widget in self.shown:
            widget.show(self.look)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("name", "theme"), [("busy", "textual-dark"), ("sick", "textual-light")])
def test_all_widgets(snap_compare: Comparing, name: str, theme: str) -> None:
    assert snap_compare(Gallery(LOOKS[name], theme), terminal_size=(100, 74))
