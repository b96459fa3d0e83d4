"""How answers change what is known about a server; without threads, clocks or sockets."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from slotview.engine.events import Notice
from slotview.engine.snapshot import EndpointState

from ..cadence import Cadence
from ..http.answer import UNREAD, Answer, Fault
from ..patience import PATIENT, Patience
from ..read.body import NotJsonError, parse_json
from ..read.errors import read_refusal, state_of, status_inside, words_of
from ..read.health import read_health
from ..read.metrics import read_metrics, read_totals
from ..read.models import ModelEntry, merged, read_models, read_running
from ..read.props import PropsFacts, read_props
from ..read.slots import read_slots, runs_over, told_ids
from .endpoint import QUEUED, Endpoint, Route, ServerKind
from .known import MODEL_ROUTES
from .run_watch import RunWatch
from .silence import heard_since, queued_of, silent_since
from .turns import Turns

__all__ = ["Knowledge", "decode"]

_ONE_ANSWER = (Fault.TIMEOUT, Fault.UNCONNECTED, Fault.DROPPED, Fault.OTHER)
"""Faults that may concern one endpoint alone: the server is gone only if /props and /health are silent, too."""

_ANOTHER = (EndpointState.BAD, EndpointState.ABSENT, EndpointState.KEY, EndpointState.OFF)
"""What /slots says if, after it was read, another server or program took over the port."""


class Knowledge(RunWatch):
    """`ask` notes a question, `settle` takes in what came back. Not thread-safe: the caller holds a lock.

    In three layers: `Known` holds the facts, `RunWatch` compares them from answer to answer, this takes answers in.
    ``hide`` takes secrets out of what a refusal says.
    """

    def __init__(
        self,
        cadence: Cadence,
        patience: Patience = PATIENT,
        model: str | None = None,
        hide: Callable[[str], str] = str,
    ) -> None:
        super().__init__(cadence, patience, model)
        self._hide = hide
        self._epoch = 1
        self._cut_at: float | None = None

    def _forget_model(self) -> None:
        """Forget everything about the watched model."""
        self.props, self.slots, self.slots_at = None, None, None
        self.told_ids, self.runs_over = frozenset(), {}
        self._forget_counters()
        self._forget_run()
        self._epoch += 1

    # Questions and answers

    def ask(self, name: Route, now: float) -> tuple[str, dict[str, str]]:
        """Note that a question is sent; return its path and parameters."""
        end = self.endpoints[name]
        end.ask(now)
        end.epoch = self._epoch
        if name is Route.SLOTS:
            self.look_wanted = False
        if name is Route.PROPS:
            self.restart_suspected = False
        return self.route(name)

    def settle(self, name: Route, answer: Answer, body: object, now: float) -> None:
        """Take in an answer, or the lack of one; ``body`` is what `decode` made of it."""
        end = self.endpoints[name]
        asked_at = now if end.asked_at is None else end.asked_at
        end.settle(answer, now)
        if name in MODEL_ROUTES and end.epoch != self._epoch:
            return end.forget()  # another model was chosen meanwhile
        if answer.fault is not None:
            return self._settle_fault(end, answer, asked_at, now)
        if self.link.answer():
            self._reconnected(end, now)
        before = end.state
        if answer.status < 300:
            self._settle_body(end, answer, body, now)
        elif not (name is Route.HEALTH and self._is_health_word(end, body, now)):
            self._settle_refusal(end, answer, answer.status, now)
        self.n_refused = self.n_refused + 1 if end.state is EndpointState.NO_ANSWER else 0
        return self._doubt_others(end, before, now)

    def _doubt_others(self, end: Endpoint, before: EndpointState, now: float) -> None:
        """Ask the other endpoints anew if this one, whose state was ``before``, no longer fits what they said."""
        is_ok, was_ok = end.state is EndpointState.OK, before is EndpointState.OK
        if end.name is Route.SLOTS and was_ok and end.state in _ANOTHER:
            self.restart_suspected = True
        if end.name is Route.HEALTH and not is_ok and self.state(Route.PROPS) is EndpointState.OK:
            self.restart_suspected = True  # what /props said is older
        if end.name is Route.HEALTH and is_ok and before is EndpointState.LOADING:
            self.look_now(now)  # until March 2024 the other endpoints came after the model

    def _settle_fault(self, end: Endpoint, answer: Answer, asked_at: float, now: float) -> None:
        end.fails(answer)
        if end.state is EndpointState.TOO_LARGE:
            self.cadence.too_large()
        if answer.fault in UNREAD:
            if self.link.answer():
                self._reconnected(end, now)
        elif self._is_gone(end, asked_at) and self.link.fail(answer, self._silence(asked_at, now), now):
            self.events.append(Notice(now, f"connection lost: {answer.message or answer.fault}", "warning"))

    def _is_gone(self, end: Endpoint, asked_at: float) -> bool:
        """Whether the lack of this answer means that the server is gone, rather than trouble with one endpoint."""
        if end.name in QUEUED:
            return False
        if end.fault not in _ONE_ANSWER or self.link.up is False:
            return True
        pair = self.endpoints[Route.PROPS], self.endpoints[Route.HEALTH]
        return end in pair and all(one.is_mute for one in pair) and not heard_since(self, asked_at)

    def _silence(self, asked_at: float, now: float) -> float:
        since = silent_since(self, now)
        return asked_at if since is None else min(asked_at, since)

    def _reconnected(self, answered: Endpoint, now: float) -> None:
        """Find out afresh what is there, as it may be another server; keep what is on the screen."""
        if self.slots_at is not None and self.link.down_since is not None:
            self.events.append(Notice(now, f"reconnected after {now - self.link.down_since:.0f} s"))
        self.kind = ServerKind.UNKNOWN
        self.turns = Turns()
        for end in self.endpoints.values():
            if not end.open and end is not answered:
                end.forget()
        if queued_of(self) is not None:
            self._cut_at = now + self.patience.pulse
        self.cadence.wake()

    def cut_due(self, now: float) -> bool:
        """Whether the queued question dates from before an outage, so that its connection is probably dead."""
        if self._cut_at is None or now < self._cut_at:
            return False
        self._cut_at = None
        return queued_of(self) is not None

    def _settle_refusal(self, end: Endpoint, answer: Answer, status: int, now: float) -> None:
        refusal = read_refusal(status, answer.body, answer.pointer, answer.pause)
        of_proxy = self.patience.doubled(self.n_refused) if state_of(refusal) is EndpointState.NO_ANSWER else 0.0
        end.refuses(replace(refusal, message=self._hide(refusal.message)), now, refusal.pause or of_proxy)
        if end.refusal is not None and end.refusal.wants_model and not self.is_proxied:
            self._found(ServerKind.ROUTER)

    def _settle_body(self, end: Endpoint, answer: Answer, body: object, now: float) -> None:
        if end.name is Route.METRICS:
            return self._take_metrics(end, answer, now)
        if isinstance(body, NotJsonError):
            return end.hears(now, EndpointState.BAD, self._hide(str(body)))
        take = {
            Route.PROPS: self._take_props,
            Route.HEALTH: self._take_health,
            Route.MODELS: self._take_models,
            Route.RUNNING: self._take_running,
            Route.SLOTS: self._take_slots,
        }[end.name]
        if take(body, now):
            return end.hears(now)
        if (status := status_inside(body)) is not None:
            return self._settle_refusal(end, answer, status, now)
        kind = "an empty list" if body == [] else "JSON of another kind"
        return end.hears(now, EndpointState.BAD, self._hide(words_of(body) or kind))

    def _is_health_word(self, end: Endpoint, body: object, now: float) -> bool:
        """Take in a health object with an error status: loading, all slots busy, or failed (2024)."""
        facts = read_health(body)
        if facts is None or not (facts.loading or facts.failed or facts.idle is not None):
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
            self._found(ServerKind.ROUTER)
            return True
        if self.kind is ServerKind.UNKNOWN:
            self.kind = ServerKind.SERVER
        self.turns.mark(Route.PROPS, facts.marker, now)
        slept, old, self.props = self.asleep, self.props, facts
        if slept and not self.asleep:
            self._woke_up()
        elif old is not None and not slept and old.marker and facts.marker and old.marker != facts.marker:
            self._forget_counters()
            self._restarted(now, told_by_props=True)
        self._take_switches(facts, now)
        return True

    def _take_switches(self, facts: PropsFacts, now: float) -> None:
        """Believe what /props says is switched off, and do not ask there."""
        for name, told in ((Route.SLOTS, facts.has_slots), (Route.METRICS, facts.has_metrics)):
            end = self.endpoints[name]
            if told is False and end.state is not EndpointState.OFF and not end.open:
                end.hears(now, EndpointState.OFF, f"/{name.value} is switched off, says /props")
                end.settled_at = now
            elif told and end.state is EndpointState.OFF:
                end.forget()

    def _found(self, kind: ServerKind) -> None:
        """Note that something with several models is there: what its endpoints said was not about a model."""
        self.kind = kind
        self._epoch += 1
        for name in MODEL_ROUTES:
            self.endpoints[name].forget()

    def _take_models(self, body: object, now: float) -> bool:
        entries = read_models(body)
        if entries is None:
            return False
        self._list_models(entries if self.kind is not ServerKind.SWAP else merged(self.models, entries), now)
        return True

    def _take_running(self, body: object, now: float) -> bool:
        entries = read_running(body)
        if entries is None:
            return False
        if self.kind is not ServerKind.SWAP:
            self._found(ServerKind.SWAP)
        self._list_models(merged(entries, self.models), now)
        return True

    def _list_models(self, entries: tuple[ModelEntry, ...], now: float) -> None:
        """Take a router's list; the chosen model's server may be gone with it."""
        was_ready, self.models = self.is_ready, entries
        if was_ready and not self.is_ready:
            self._unloaded(now)
            self._ask_again(*MODEL_ROUTES)

    def _take_slots(self, body: object, now: float) -> bool:
        slots = read_slots(body, self.runs_over)
        if slots is None:
            return False
        self.runs_over = runs_over(body, slots, self.runs_over)
        self.told_ids = told_ids(body)
        self._compare_slots(slots, now)
        end = self.endpoints[Route.SLOTS]
        self.slots, self.slots_at = slots, self._reported_at(end.age, now)
        self.cadence.saw(busy=self.has_work, seconds=end.seconds or 0.0, size=end.size)
        return True

    def _reported_at(self, age: float, now: float) -> float:
        """When the server said what a cache has kept for ``age`` seconds, of which only whole ones are told."""
        if age == 0 or self.slots_at is None:
            return now - age
        return self.slots_at if now - age < self.slots_at + 1 else now - age

    def _take_metrics(self, end: Endpoint, answer: Answer, now: float) -> None:
        values = read_metrics(answer.body)
        if values is None:
            return end.hears(now, EndpointState.BAD, "no llama-server's metrics")
        end.hears(now)
        self.totals, self.metrics = read_totals(values), values
        return self._compare_totals(answer.start_mark, now)

    # What a person asks for

    def look_now(self, now: float) -> None:
        """Ask again at once, including what had been given up."""
        self.look_wanted = True
        self.link.retry_at, self.link.fails = now, 0
        self.cadence.wake()
        for end in self.endpoints.values():
            end.rests_until = now
            if end.state not in (EndpointState.OK, EndpointState.OFF) and not end.open:
                end.forget()

    def choose(self, model: str) -> None:
        """Watch another model of a router."""
        self.chosen = model
        self._forget_model()
        for name in MODEL_ROUTES:
            self.endpoints[name].forget()
        self.cadence.wake()


def decode(name: Route, answer: Answer) -> object:
    """The JSON of an answer, or the `NotJsonError` that says why it is none. This is slow: call it without the lock."""
    if answer.fault is not None or name is Route.METRICS:
        return None
    try:
        return parse_json(answer.body)
    except NotJsonError as error:
        return error
