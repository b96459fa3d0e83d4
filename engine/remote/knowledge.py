"""Everything known about one server, out of its answers: no thread, no clock, no socket."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from ..events import Event, Notice
from ..snapshot import EndpointState, SlotView, Totals
from . import changes
from .body import NotJsonError, parse_json
from .cadence import Cadence
from .endpoint import DIRECT, QUEUED, Endpoint, Kind, Name
from .link import Link
from .read_errors import read_refusal
from .read_health import HealthFacts, read_health
from .read_metrics import read_metrics, read_totals
from .read_models import ModelEntry, read_models, read_running
from .read_props import PropsFacts, build_number, read_props
from .read_slots import read_slots
from .wire import Answer, Fault

__all__ = ["MODEL_ENDS", "OVERDUE", "PATIENCE", "UNFIT", "Knowledge", "decode"]

PATIENCE = 2.0
"""Seconds /slots may take before /health is asked whether the server lives."""

OVERDUE = 1.5
"""Seconds after which an open question at an endpoint that any HTTP thread answers says something."""

CALM_METRICS_BUILD = 10423
"""Before about this build (August 2026) reading /metrics kept a model from falling asleep, too (spec §10.2)."""

MODEL_ENDS = (Name.PROPS, Name.SLOTS, Name.METRICS)
"""Endpoints that speak of one model, so that a router is asked for them with its name."""

UNFIT = (EndpointState.ABSENT, EndpointState.BAD)
_READY_WORDS = frozenset({"loaded", "ready", "sleeping", "running"})


class Knowledge:
    """`ask` notes a question, `settle` takes what came back. Not thread-safe: whoever drives it holds a lock.

    ``metrics_every``: seconds between reads of /metrics; None = with each look, 0 = never, since each read resets the
    server's speed gauges for everybody. ``events`` collects what happened until the driver takes it away.
    """

    def __init__(self, cadence: Cadence, *, model: str | None = None, metrics_every: float | None = None) -> None:
        self.cadence = cadence
        self.chosen = model
        self.metrics_every = metrics_every
        self.ends = {name: Endpoint(name) for name in Name}
        self.link = Link()
        self.kind = Kind.UNKNOWN
        self.events: list[Event] = []
        self.health: HealthFacts | None = None
        self.models: tuple[ModelEntry, ...] = ()
        self.look_wanted = False  # whatever the cadence says
        self.restart_suspected = False
        self._epoch = 0
        self._cut_at: float | None = None
        self._forget_model()

    def _forget_model(self) -> None:
        """Drop what belongs to the model that is watched."""
        self.props: PropsFacts | None = None
        self.slots: tuple[SlotView, ...] | None = None
        self.slots_at: float | None = None
        self.metrics: Mapping[str, float | None] = {}
        self.totals = Totals()
        self._comparable: tuple[SlotView, ...] = ()  # the last slots of the same run of the server
        self._ids_fell = False
        self._totals_at_look = Totals()
        self._start_mark: str | None = None
        self._epoch += 1

    # What is known

    def state(self, name: Name) -> EndpointState:
        """What an endpoint said last."""
        return self.ends[name].state

    @property
    def entry(self) -> ModelEntry | None:
        """The chosen model's line in the list of a router or llama-swap."""
        return next((entry for entry in self.models if entry.name == self.chosen), None)

    @property
    def asleep(self) -> bool:
        """Whether the model is unloaded until the next request."""
        if self.props is not None and self.props.sleeping is True:
            return True
        return self.is_proxied and self.entry is not None and self.entry.state == "sleeping"

    @property
    def may_sleep(self) -> bool:
        """Whether the server is of a build that can unload an idle model."""
        return self.props is not None and self.props.sleeping is not None

    @property
    def is_proxied(self) -> bool:
        """Whether the slots stand behind a router or llama-swap."""
        return self.kind in (Kind.ROUTER, Kind.SWAP)

    @property
    def is_ready(self) -> bool:
        """Whether there is a server whose slots may be asked without loading a model by it."""
        return not self.is_proxied or (self.entry is not None and self.entry.state in _READY_WORDS)

    @property
    def deferred(self) -> int | None:
        """Requests in the deferred queue as /metrics said last."""
        value = self.metrics.get("requests_deferred")
        return None if value is None or value < 0 else int(value)

    @property
    def has_work(self) -> bool:
        """Whether a slot is busy or a request waits, as of the last answers."""
        if any(slot.is_busy for slot in self.slots or ()):
            return True
        return self.state(Name.METRICS) is EndpointState.OK and bool(self.deferred)

    @property
    def metrics_tell(self) -> bool:
        """Whether /metrics may be asked while nothing happens, and then shows that work begins."""
        if self.metrics_every == 0 or self.kind is Kind.SWAP or self.state(Name.METRICS) is not EndpointState.OK:
            return False
        number = build_number(self.props.build if self.props else None)
        return not (self.may_sleep and number is not None and number < CALM_METRICS_BUILD)

    @property
    def holds(self) -> bool:
        """Whether idle slots are not asked at all, so that the model can be unloaded."""
        return self.cadence.at_cap and (self.metrics_tell or self.kind is Kind.SWAP)

    @property
    def is_foreign(self) -> bool:
        """Whether nothing that answers looks like a llama-server."""
        silent = all(self.state(name) in UNFIT for name in (Name.PROPS, Name.HEALTH, Name.RUNNING))
        bad = any(self.state(name) is EndpointState.BAD for name in (Name.PROPS, Name.HEALTH, Name.SLOTS))
        return silent and bad and self.state(Name.SLOTS) is not EndpointState.OK

    def lives_beside(self, end: Endpoint) -> bool:
        """Whether some HTTP thread has answered since ``end`` was asked."""
        asked = end.asked_at or 0.0
        return any((self.ends[name].settled_at or 0.0) > asked for name in DIRECT)

    def silent_since(self, now: float) -> float | None:
        """Since when a question that any HTTP thread answers at once has been open; None where none is overdue."""
        late = [self.ends[name] for name in DIRECT if self.ends[name].waiting_for(now) > OVERDUE]
        since = [end.asked_at for end in (*late, self.queued) if end is not None and end.asked_at is not None]
        return min(since) if late else None

    @property
    def queued(self) -> Endpoint | None:
        """The open question that waits behind the server's main loop; there is at most one."""
        return next((self.ends[name] for name in QUEUED if self.ends[name].open), None)

    def is_overdue(self, now: float) -> bool:
        """Whether time alone changes the verdict: some question has been open for long, or the server is gone."""
        return self.link.up is False or any(end.waiting_for(now) > OVERDUE for end in self.ends.values())

    # Questions and answers

    def ask(self, name: Name, now: float) -> tuple[str, dict[str, str]]:
        """Note that the question goes out; its path and parameters."""
        end = self.ends[name]
        end.ask(now)
        end.epoch = self._epoch
        if name is Name.SLOTS:
            self.look_wanted = False
        if name is Name.PROPS:
            self.restart_suspected = False
        return self.route(name)

    def route(self, name: str) -> tuple[str, dict[str, str]]:
        """Path and parameters of an endpoint of what is watched; a router must not load a model for it."""
        path = f"/v1/{name}" if name == Name.MODELS and self.kind is not Kind.ROUTER else f"/{name}"
        if name not in MODEL_ENDS or not self.chosen:
            return path, {}
        if self.kind is Kind.ROUTER:
            return path, {"model": self.chosen, "autoload": "false"}
        return (f"/upstream/{quote(self.chosen, safe='/:')}{path}" if self.kind is Kind.SWAP else path), {}

    def settle(self, name: Name, answer: Answer, body: object, now: float) -> None:
        """Take an answer, or the lack of one; ``body`` is what `decode` made of it."""
        end = self.ends[name]
        asked_at = now if end.asked_at is None else end.asked_at
        end.settle(answer, now)
        if name in MODEL_ENDS and end.epoch != self._epoch:
            return end.forget()  # another model was chosen meanwhile
        if answer.fault is not None:
            return self._settle_fault(end, answer, asked_at, now)
        if self.link.answer():
            self._reconnected(end, now)
        if answer.status < 300:
            self._settle_body(end, answer, body, now)
        elif not (name is Name.HEALTH and self._is_health_word(end, body, now)):
            end.refuses(read_refusal(answer.status, answer.body), now)
            self._settle_refusal(end)
        return None

    def _settle_fault(self, end: Endpoint, answer: Answer, asked_at: float, now: float) -> None:
        end.fails(answer)
        if answer.fault is Fault.TOO_LARGE:
            self.cadence.too_large()
        elif end.name not in QUEUED and self.link.fail(answer, asked_at, now):
            self.events.append(Notice(now, f"connection lost: {answer.message or answer.fault}", "warning"))

    def _reconnected(self, answered: Endpoint, now: float) -> None:
        """The server may be another one now: find out anew, but keep what is on the screen."""
        if self.slots_at is not None and self.link.down_since is not None:
            self.events.append(Notice(now, f"reconnected after {now - self.link.down_since:.0f} s"))
        self.kind = Kind.UNKNOWN
        for end in self.ends.values():
            if not end.open and end is not answered:
                end.forget()
        if self.queued is not None:
            self._cut_at = now + PATIENCE
        self.cadence.wake()

    def cut_due(self, now: float) -> bool:
        """Whether the queued question is from before an outage, so that its connection is probably dead."""
        if self._cut_at is None or now < self._cut_at:
            return False
        self._cut_at = None
        return self.queued is not None

    def _settle_refusal(self, end: Endpoint) -> None:
        if end.refusal is not None and end.refusal.wants_model and not self.is_proxied:
            self._found(Kind.ROUTER)

    def _settle_body(self, end: Endpoint, answer: Answer, body: object, now: float) -> None:
        if end.name is Name.METRICS:
            return self._take_metrics(end, answer, now)
        if isinstance(body, NotJsonError):
            return end.hears(now, EndpointState.BAD, str(body))
        take = {
            Name.PROPS: self._take_props,
            Name.HEALTH: self._take_health,
            Name.MODELS: self._take_models,
            Name.RUNNING: self._take_running,
            Name.SLOTS: self._take_slots,
        }[end.name]
        if take(body, now):
            return end.hears(now)
        return end.hears(now, EndpointState.BAD, "not what a llama-server answers")

    def _is_health_word(self, end: Endpoint, body: object, now: float) -> bool:
        """A health object under an error status: loading, or all slots busy (2024)."""
        facts = read_health(body)
        if facts is None or not (facts.loading or facts.idle is not None):
            return False
        self.health = facts
        end.hears(now, EndpointState.LOADING if facts.loading else EndpointState.OK, facts.word)
        return True

    def _take_health(self, body: object, now: float) -> bool:
        self.health = read_health(body)
        return self.health is not None

    def _take_props(self, body: object, now: float) -> bool:
        facts = read_props(body)
        if facts is None:
            return False
        if facts.router and not self.is_proxied:
            self._found(Kind.ROUTER)
            return True
        if self.kind is Kind.UNKNOWN:
            self.kind = Kind.SERVER
        slept, old, self.props = self.asleep, self.props, facts
        if slept and not self.asleep:
            self._woke_up()
        elif old is not None and not slept and old.marker and facts.marker and old.marker != facts.marker:
            self._restarted(now)
        self._take_switches(facts, now)
        return True

    def _take_switches(self, facts: PropsFacts, now: float) -> None:
        """Believe /props about what is switched off, and so spare the question."""
        for name, told in ((Name.SLOTS, facts.has_slots), (Name.METRICS, facts.has_metrics)):
            end = self.ends[name]
            if told is False and end.state is not EndpointState.OFF and not end.open:
                end.hears(now, EndpointState.OFF, "told by /props")
                end.settled_at = now
            elif told and end.state is EndpointState.OFF:
                end.forget()

    def _found(self, kind: Kind) -> None:
        """Something with several models stands there: what its endpoints said was not about a model."""
        self.kind = kind
        self._epoch += 1
        for name in MODEL_ENDS:
            self.ends[name].forget()

    def _take_models(self, body: object, now: float) -> bool:
        entries = read_models(body)
        if entries is None:
            return False
        self.models = entries if self.kind is not Kind.SWAP else _merged(self.models, entries)
        return True

    def _take_running(self, body: object, now: float) -> bool:
        entries = read_running(body)
        if entries is None:
            return False
        if self.kind is not Kind.SWAP:
            self._found(Kind.SWAP)
        self.models = _merged(entries, self.models)
        return True

    def _take_slots(self, body: object, now: float) -> bool:
        slots = read_slots(body)
        if slots is None:
            return False
        self._compare(slots, now)
        self.slots, self._comparable, self.slots_at = slots, slots, now
        self._totals_at_look = self.totals
        end = self.ends[Name.SLOTS]
        self.cadence.saw(busy=self.has_work, seconds=end.seconds or 0.0, size=end.size)
        return True

    def _compare(self, slots: tuple[SlotView, ...], now: float) -> None:
        self._ids_fell = changes.ids_began_again(self._comparable, slots)
        if self._ids_fell:
            if self._start_mark or (self.props is not None and self.props.marker):
                self.restart_suspected = True  # a mark that is new at each start knows for sure
            else:
                self._restarted(now)
        self.events.extend(changes.task_events(self._comparable, slots, now))

    def _take_metrics(self, end: Endpoint, answer: Answer, now: float) -> None:
        values = read_metrics(answer.body)
        if values is None:
            return end.hears(now, EndpointState.BAD, "no llama-server's metrics")
        end.hears(now)
        old, self.totals, self.metrics = self.totals, read_totals(values), values
        mark, self._start_mark = self._start_mark, answer.start_mark
        if changes.totals_fell(old, self.totals) or (mark and answer.start_mark and mark != answer.start_mark):
            self._restarted(now)
        return self._weigh(now)

    def _weigh(self, now: float) -> None:
        """While idle: look at the slots when the counters say that something happened, else they still hold."""
        if self.cadence.idle_gap is None or self.slots is None:
            return
        moved = changes.totals_moved(self._totals_at_look, self.totals)
        if moved or self.totals.processing or self.deferred:
            self.cadence.wake()
            self._totals_at_look = self.totals
            self.look_wanted = not self.asleep
        elif self.totals.processing == 0:
            self.slots_at = now

    def _woke_up(self) -> None:
        """A model was loaded again: fresh slots in the same server."""
        self._comparable = ()
        self._start_mark = None
        self._totals_at_look = self.totals = Totals()
        self.ends[Name.SLOTS].forget()
        self.cadence.wake()

    def _restarted(self, now: float) -> None:
        """The server began anew: what was running is gone, and nothing of before may be compared with it."""
        self.events.append(Notice(now, "server restarted: counters and task ids begin again", "warning"))
        if not self._ids_fell:  # else the last look already was at the new run
            self.events.extend(changes.lost_tasks(self._comparable, now))
            self._comparable = ()
        self._start_mark = None
        self._totals_at_look = self.totals
        self.look_wanted = not self.asleep
        self.cadence.wake()

    # What a person asks for

    def look_now(self, now: float) -> None:
        """Ask again at once, also what was given up."""
        self.look_wanted = True
        self.link.retry_at, self.link.fails = now, 0
        self.cadence.wake()
        for end in self.ends.values():
            if end.state not in (EndpointState.OK, EndpointState.OFF) and not end.open:
                end.forget()

    def choose(self, model: str) -> None:
        """Watch another model of a router."""
        self.chosen = model
        self._forget_model()
        for name in MODEL_ENDS:
            self.ends[name].forget()
        self.cadence.wake()


def decode(name: Name, answer: Answer) -> object:
    """The JSON of an answer, or the `NotJsonError` that says why it is none. Costs time: call it without the lock."""
    if answer.fault is not None or name is Name.METRICS:
        return None
    try:
        return parse_json(answer.body)
    except NotJsonError as error:
        return error


def _merged(leading: tuple[ModelEntry, ...], others: tuple[ModelEntry, ...]) -> tuple[ModelEntry, ...]:
    """llama-swap lists running models in one place and all of them in another."""
    names = {entry.name for entry in leading}
    return leading + tuple(ModelEntry(entry.name, "stopped") for entry in others if entry.name not in names)
