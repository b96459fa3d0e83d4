"""What two successive answers say: which tasks began or ended, and whether the server was restarted."""

from __future__ import annotations

from msgspec.structs import replace

from slotview.engine.events import Event, Notice
from slotview.engine.restart_signs import counters_fell, counters_moved, ids_began_again
from slotview.engine.snapshot import SlotView, Totals

from ..cadence import Cadence
from ..patience import PATIENT, Patience
from .changes import lost_tasks, task_events
from .endpoint import Route
from .known import Known
from .turns import Turns

__all__ = ["RunWatch"]


class RunWatch(Known):
    """Compares each answer with the one before, as long as both come from the same run of the server.

    ``events`` collects what happened until the caller takes it away.
    """

    def __init__(self, cadence: Cadence, patience: Patience = PATIENT, model: str | None = None) -> None:
        super().__init__(cadence, patience, model)
        self.events: list[Event] = []
        self._forget_run()

    def _forget_run(self) -> None:
        """Forget what was said before, so that nothing is compared with it."""
        self._comparable: tuple[SlotView, ...] = ()  # the last slots of the same run of the server
        self._counters = Totals()  # and its last counters
        self._ids_began_again = False
        self._totals_at_look = Totals()
        self._start_mark: str | None = None
        self.turns = Turns()

    def _compare_slots(self, slots: tuple[SlotView, ...], now: float) -> None:
        """Compare an answer of /slots with the one before."""
        self._notice_tasks(slots, now)
        self._comparable, self._totals_at_look = slots, self.totals

    def _notice_tasks(self, slots: tuple[SlotView, ...], now: float) -> None:
        self._ids_began_again = ids_began_again(self._comparable, slots)
        if self._ids_began_again:
            self.turns.falls(now)
        if self.turns.are_taken(now):
            return
        if self._ids_began_again:
            if self._start_mark or (self.props is not None and self.props.marker):
                self.restart_suspected = True  # a mark that is new at each start will say for sure
            else:
                self._forget_counters()
                self._restarted(now)
        self.events.extend(task_events(self._comparable, slots, now))

    def _compare_totals(self, start_mark: str | None, now: float) -> None:
        """Compare the totals that were just read with those before; ``start_mark`` is new at each start."""
        mark, self._start_mark = self._start_mark, start_mark
        self.turns.mark(Route.METRICS, start_mark, now)
        fell = counters_fell(self._counters, self.totals)
        if fell:
            self.turns.falls(now)
        if fell or (mark and start_mark and mark != start_mark):
            self._restarted(now)
        self._counters = self.totals
        self._weigh(now)

    def _weigh(self, now: float) -> None:
        """While idle: look at the slots if the counters say that something happened; if not, the slots still hold."""
        if self.cadence.idle_gap is None or self.slots is None or self.turns.are_taken(now):
            return
        moved = counters_moved(self._totals_at_look, self.totals)
        if moved or self.totals.processing or self.deferred:
            self.cadence.wake()
            self._totals_at_look = self.totals
            self.look_wanted = not self.asleep
        elif self.totals.processing == 0 and self.slots_at is not None:
            self.slots_at = max(self.slots_at, now - self.endpoints[Route.METRICS].age)

    def _unloaded(self, now: float) -> None:
        """Note that a router or llama-swap ended the model's server, or that it failed; the next one is another run."""
        state = "no longer listed" if self.entry is None else self.entry.state or "not loaded"
        self.events.append(Notice(now, f"{self.chosen} is {state}: its slots are gone", "warning"))
        self.events.extend(lost_tasks(self._comparable, now))
        self._forget_run()
        self._forget_counters()
        self._forget_mark()

    def _woke_up(self) -> None:
        """Note that a model was loaded again: fresh slots in the same server."""
        self._comparable, self._counters = (), Totals()
        self._start_mark = None
        self._totals_at_look = self.totals = Totals()
        self.endpoints[Route.SLOTS].forget()
        self.cadence.wake()

    def _forget_counters(self) -> None:
        """Forget what /metrics said of a run that is over."""
        self.metrics, self.totals = {}, Totals()

    def _forget_mark(self) -> None:
        """Forget the mark that /props told of a run that is over: the next one is no second restart."""
        if self.props is not None:
            self.props = replace(self.props, marker=None)

    def _ask_again(self, *names: Route) -> None:
        """Forget what endpoints said, so that they are asked anew, but for those whose answer is still due."""
        for name in names:
            if not self.endpoints[name].open:
                self.endpoints[name].forget()

    def _restarted(self, now: float, *, told_by_props: bool = False) -> None:
        """Note a restart: what was running is gone, and nothing may be compared with what was before.

        Unless /props told of it, what that said is of the run before.
        """
        if self.turns.are_taken(now):
            return
        self.events.append(Notice(now, "server restarted: counters and task ids begin again", "warning"))
        if not self._ids_began_again:  # else the last look was at the new run already
            self.events.extend(lost_tasks(self._comparable, now))
            self._comparable = ()
        self._start_mark, self._counters = None, Totals()
        self._ask_again(Route.MODELS)
        if not told_by_props:
            self._forget_mark()
            self._ask_again(Route.PROPS)
        self._totals_at_look = self.totals
        self.look_wanted = not self.asleep
        self.cadence.wake()
