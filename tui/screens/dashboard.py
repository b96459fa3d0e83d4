"""The screen of one backend: what it shows, how often, and what each key does."""

from __future__ import annotations

from typing import ClassVar, Protocol, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.events import DescendantBlur, DescendantFocus, Key, Resize
from textual.reactive import reactive
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from slotview.engine.backend import RetuneMode
from slotview.engine.snapshot import HealthState
from slotview.widgets.base.row_list import RowList
from slotview.widgets.busy_panel import BusyPanel
from slotview.widgets.findings_list import FindingsList
from slotview.widgets.header_bar import HeaderBar
from slotview.widgets.kv_map import KvMap
from slotview.widgets.log_view import LogView
from slotview.widgets.look import Look
from slotview.widgets.pool_bar import PoolBar
from slotview.widgets.request_list import NONE_YET, RequestList
from slotview.widgets.slot_table import SlotTable
from slotview.widgets.speed_chart import SpeedChart
from slotview.widgets.waiting_panel import WaitingPanel

from ..feed import Feed
from ..key_line import KeyLine
from ..messages import Refreshed
from ..slow_line import is_behind
from ..tab_strip import Tab, TabStrip
from .changes import ChangingScreen
from .tabs import open_tab, tabs_of, with_counts

__all__ = ["Dashboard"]

INTERVALS = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0)


class Live(Protocol):
    """A widget that shows looks."""

    def show(self, look: Look) -> None:
        """Show a look."""


class Dashboard(ChangingScreen):
    """Slots, pool, panels and requests of one backend, refreshed a few times a second."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "fire", "Fire", id="fire", tooltip="Send one prompt, or up to 256 at once"),
        Binding("t", "retune", "Retune", id="retune", tooltip="See and change slots, context and KV mode"),
        Binding("space", "freeze", "Freeze", id="freeze", tooltip="Hold the display still; the server goes on"),
        Binding("space", "thaw", "Go on", id="thaw", tooltip="Let the display catch up"),
        Binding("m", "choose_model", "Model", id="model", tooltip="Choose one of the router's models"),
        Binding("question_mark", "help", "Help", id="help", tooltip="All keys, and what each number means"),
        Binding("escape", "back", "Back", id="back", tooltip="Back to the overview of all servers"),
        Binding("q", "back", "Back", id="back.q", show=False, tooltip="Back to the overview of all servers"),
        Binding("q", "leave", "Quit", id="quit", tooltip="Leave slotview"),
        Binding(
            "x", "slot_actions", "Slot cache", id="slot", show=False, tooltip="Erase or save the chosen slot's tokens"
        ),
        Binding("v", "chart", "Chart", id="chart", show=False, tooltip="Draw the history on the whole screen"),
        Binding(
            "r",
            "look_now",
            "Look now",
            id="look",
            show=False,
            tooltip="Poll now, even if that wakes a sleeping model; start a recording over",
        ),
        Binding(
            "plus,equals_sign", "interval(-1)", "Faster", id="faster", show=False, tooltip="Poll or refresh more often"
        ),
        Binding("minus", "interval(1)", "Slower", id="slower", show=False, tooltip="Poll or refresh less often"),
        Binding("0", "slots", "Slots", id="slots", show=False, tooltip="Go to the slot table"),
        Binding("1", "show_tab('requests')", "Requests", id="tab.requests", show=False, tooltip="Go to the requests"),
        Binding("2", "show_tab('findings')", "Findings", id="tab.findings", show=False, tooltip="Open the findings"),
        Binding("3", "show_tab('log')", "Log", id="tab.log", show=False, tooltip="Open the log"),
        Binding("4", "show_tab('cells')", "Cells", id="tab.cells", show=False, tooltip="Open the map of the KV cells"),
        Binding("5", "show_tab('speed')", "Speed", id="tab.speed", show=False, tooltip="Go to the speed chart"),
    ]
    AUTO_FOCUS = "SlotTable"

    tab: reactive[str] = reactive("requests", init=False)
    """The name of the tab that is to be open; `tabs_of` says which panes are tabs."""
    caption: reactive[str] = reactive("", init=False)
    """A line for the audience, shown below the header."""

    def __init__(self, feed: Feed, refresh: float = 0.25) -> None:
        super().__init__(feed)
        self._every = refresh
        self._has_news = False
        self._timer: Timer | None = None
        self._places: list[Widget] = []
        self._can: object = None
        can = feed.backend.capabilities
        if can.retune is RetuneMode.RESTART or can.replay:
            self.set_reactive(Dashboard.tab, "log")  # of the server that was started here, or that was recorded

    def compose(self) -> ComposeResult:
        """Lay out the widgets; the style sheet determines sizes and places."""
        self._fold()
        yield HeaderBar(id="header")
        yield Static(id="caption", markup=False)
        with Horizontal(id="top"):
            with Vertical(id="left"):
                yield SlotTable(id="slots")
                yield PoolBar(id="pool")
            with Vertical(id="gauges"):
                yield BusyPanel(id="busy")
                yield WaitingPanel(id="waiting")
        with Horizontal(id="bottom"):
            yield RequestList(why_none=self._why_no_requests, id="requests", classes=self._pane("requests"))
            yield SpeedChart(id="speed", classes=self._pane("speed"))
            yield TabStrip(id="tabs")
            yield FindingsList(id="findings", classes=self._pane("findings"))
            yield LogView(id="log", classes=self._pane("log"))
            yield KvMap(id="cells", classes=self._pane("cells"))
        yield KeyLine()

    def _fold(self) -> None:
        """Set the classes for this size before there are widgets, so that their styles are computed only once."""
        app, size = self.app, self.app.size
        for points, length in ((app.HORIZONTAL_BREAKPOINTS, size.width), (app.VERTICAL_BREAKPOINTS, size.height)):
            fitting = [name for low, name in points or () if low <= length]
            self.add_class(*fitting[-1:])

    def on_mount(self) -> None:
        """Start polling."""
        self._places = list(self.query("#header, #left > *, #gauges > *, .pane"))
        self._set_pace(self._every)
        self.watch_tab()
        self.feed.poll()
        self._show()

    def on_resize(self, event: Resize) -> None:
        """Other widgets may have come into view; Textual sets the classes for the size after this."""
        self.call_next(self.watch_tab)

    def on_key(self, event: Key) -> None:
        """Let any key make an idle poller look now, unless that would wake a sleeping model."""
        snapshot = self.feed.look.snapshot
        waits = snapshot.poll is not None and snapshot.poll.idle_gap is not None
        if waits and snapshot.health.state is not HealthState.ASLEEP:
            self.feed.backend.look_now()
        self._say_why_not(event.key)

    def _say_why_not(self, key: str) -> None:
        """Explain why a key is greyed out, if it is."""
        active = self.active_bindings.get(key)
        if active is None or active.enabled:
            return
        if isinstance(active.node, RowList):
            self.tell_only(active.node.why_not(active.binding.action))
            return
        is_replay = self.feed.backend.capabilities.replay
        why = "" if is_replay else self.feed.look.snapshot.health.message
        told = f"{active.binding.description}: not possible {'in a recording' if is_replay else 'here'}"
        self.tell_only(f"{told} ({why})" if why else told)

    def look(self) -> None:
        """Poll the backend; wake the screen once if there is something new, and the terminal is ready for it."""
        self._has_news |= self.feed.poll()
        if self._has_news and not is_behind(self.app):
            self._has_news = False
            self.post_message(Refreshed())

    @on(Refreshed)
    def _show(self) -> None:
        look = self.feed.take()
        with self.app.batch_update():
            for widget in self._live():
                widget.show(look)
            self._show_tabs()
            self.set_class(look.frozen, "-frozen")
        can = (self.feed.backend.capabilities, look.snapshot.health.state, look.frozen)
        if can != self._can:
            self._can = can
            self.refresh_bindings()

    def _live(self) -> list[Live]:
        """The widgets in view, and the log, which collects events even if it is not."""
        shown = [widget for widget in self._places if widget.is_on_screen or widget.id == "log" or not widget.size]
        return cast("list[Live]", shown)

    def watch_tab(self) -> None:
        """Show the pane of the open tab, up to date; the tabs are its title."""
        for pane in self.query(".pane"):
            for name, holds in self._look_of(pane.id or "").items():
                pane.set_class(holds, name)
        self.call_after_refresh(self._show_again)

    def _show_again(self) -> None:
        look = self.feed.look
        for widget in self._live():
            if not isinstance(widget, LogView):
                widget.show(look)
        self._show_tabs()

    def watch_caption(self) -> None:
        """Show the caption, or hide its line."""
        line = self.query_one("#caption", Static)
        line.update(self.caption)
        line.display = bool(self.caption)

    @property
    def _tabs(self) -> tuple[Tab, ...]:
        return tabs_of(narrow=self.has_class("-narrow"), low=self.has_class("-low"))

    def _why_no_requests(self) -> str:
        """Why none is listed; a server elsewhere has to answer before any can be sent."""
        can = self.feed.backend.capabilities
        if can.replay:
            return "none: a recording contains no prompts"
        state = self.feed.look.snapshot.health.state
        why = "not possible here" if state is HealthState.OK else state.value
        return NONE_YET if can.fire else f"none can be fired: {why}"

    def _pane(self, name: str) -> str:
        """All classes of a pane, for its first frame."""
        return " ".join(["pane", *(each for each, holds in self._look_of(name).items() if holds)])

    def _look_of(self, name: str) -> dict[str, bool]:
        """Which classes a pane has at this size and with this tab open; a tab is its title."""
        is_tab = any(tab.name == name for tab in self._tabs)
        return {"-untitled": is_tab, "-open": name == open_tab(self._tabs, self.tab)}

    @on(DescendantFocus)
    @on(DescendantBlur)
    def _show_tabs(self) -> None:
        look = self.feed.look
        tabs = with_counts(self._tabs, {"requests": look.n_open, "findings": len(look.observation.findings)})
        current = open_tab(tabs, self.tab)
        has_focus = self.focused is not None and self.focused.id == current
        self.query_one(TabStrip).show_tabs(tabs, current, has_focus)

    def _set_pace(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._every = seconds
        self._timer = self.set_interval(seconds, self.look)

    @property
    def chosen_slot(self) -> int | None:
        """Id of the row chosen in the slot table."""
        row = self.query_one(SlotTable).chosen
        return row.slot.id if row else None

    def fired(self) -> None:
        """Show the requests."""
        self._open("requests")
        self.look()
        if self.feed.frozen:
            self.tell_only("sent; the display is frozen, space lets it go on")

    def action_freeze(self) -> None:
        """Freeze the display, or let it catch up."""
        self.feed.toggle_frozen()
        self.post_message(Refreshed())

    action_thaw = action_freeze

    def action_look_now(self) -> None:
        """Poll now, however long the poller would wait; a recording starts over."""
        self.feed.backend.look_now()

    def action_interval(self, step: int) -> None:
        """Poll a server more or less often; if none is polled, refresh the display more or less often."""
        poll = self.feed.backend.latest().poll
        now = self._every if poll is None else poll.interval
        index = min(range(len(INTERVALS)), key=lambda i: abs(INTERVALS[i] - now)) + step
        seconds = INTERVALS[min(max(0, index), len(INTERVALS) - 1)]
        if poll is None:
            self._set_pace(seconds)
            self.tell_only(f"display refreshed every {seconds:g} s")
        else:
            self.feed.backend.set_interval(seconds)
            self.tell_only(f"server asked every {seconds:g} s")

    def action_show_tab(self, name: str) -> None:
        """Open a tab, and go to its list."""
        self._open(name)
        pane = self.query_one(f"#{name}")
        if pane.can_focus:
            self.call_after_refresh(pane.focus)

    def _open(self, name: str) -> None:
        """Open a tab; what stands beside the tabs at this size is in view anyway."""
        if any(tab.name == name for tab in self._tabs):
            self.tab = name

    @on(TabStrip.Opened)
    def _open_tab_of(self, message: TabStrip.Opened) -> None:
        self.action_show_tab(message.name)

    def action_slots(self) -> None:
        """Go to the slot table."""
        self.query_one(SlotTable).focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer "back" or "quit" and "freeze" or "go on", whichever applies, and "look now" if anything is polled."""
        if action in ("freeze", "thaw"):
            return (action == "thaw") is self.feed.frozen
        if action == "slot_actions" and isinstance(self.focused, RequestList):
            return None  # x means the request there, even one that cannot be cancelled
        if action == "interval":
            return not self.feed.backend.capabilities.replay
        if action == "look_now":
            return self.feed.look.snapshot.poll is not None or self.feed.backend.capabilities.replay
        if action in ("back", "leave"):
            return (action == "back") is (self.app.screen_stack[0] is not self)
        return super().check_action(action, parameters)

    def action_leave(self) -> None:
        """End the app."""
        self.app.exit()

    def action_back(self) -> None:
        """Go back to the screen that opened this one."""
        self.app.pop_screen()

    def action_help(self) -> None:
        """Show all keys and what the numbers mean."""
        from .help import HelpScreen

        self.open(HelpScreen(self))

    def action_chart(self) -> None:
        """Draw the history on the whole screen."""
        from .chart import ChartScreen

        self.open(ChartScreen(lambda: self.feed.look.observation.history))

    @on(SlotTable.Opened)
    def _open_slot(self, message: SlotTable.Opened) -> None:
        from .slot import SlotScreen

        self.open(SlotScreen(self.feed, message.slot))

    @on(LogView.ReadRequested)
    def _read_log(self) -> None:
        from .log import LogScreen

        log = self.query_one(LogView)
        self.open(LogScreen(lambda: log.lines))

    @on(RequestList.Opened)
    def _open_request(self, message: RequestList.Opened) -> None:
        from .request import RequestScreen

        ticket = self.feed.ticket(message.number)
        if ticket is not None:
            self.open(RequestScreen(ticket, lambda: self.feed.backend.latest().time))
