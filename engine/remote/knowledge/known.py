"""What is known about a server, and what follows from it; changed in `run_watch` and `learning`."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from slotview.engine.snapshot import EndpointState, SlotView, Totals

from ..cadence import CAP, Cadence
from ..patience import PATIENT, Patience
from ..read.health import HealthFacts
from ..read.left_over import LastRun
from ..read.models import ModelEntry
from ..read.props import PropsFacts, build_number
from ..read.values import as_count
from .endpoint import Endpoint, Route, ServerKind
from .link import Link
from .turns import Turns

__all__ = ["AUGUST_2026", "MODEL_ROUTES", "UNFIT", "Known"]

AUGUST_2026 = 10423
"""From about this build, /slots answers during a decode, so that silence means more, and reading /metrics keeps no
model from falling asleep (spec §10.2).
"""

_NEW_COUNTER = "prompt_tokens_cached_total"
"""The builds of 2026 that have it are the newer ones; it tells where a build does not know its number."""

MODEL_ROUTES = (Route.PROPS, Route.SLOTS, Route.METRICS)
"""Endpoints about one model, which has to be named if a router is asked."""

UNFIT = (EndpointState.ABSENT, EndpointState.BAD)
_SLOTS_SPEAK = (EndpointState.UNKNOWN, EndpointState.OK, EndpointState.KEY, EndpointState.LOADING, EndpointState.OFF)
"""What /slots says of itself if it is a llama-server's, whatever stands before its other routes."""

_READY_WORDS = frozenset({"loaded", "ready", "sleeping", "running"})


class Known:
    """The facts. ``model``: which of a router's models is watched."""

    def __init__(self, cadence: Cadence, patience: Patience = PATIENT, model: str | None = None) -> None:
        self.cadence = cadence
        self.patience = patience
        self.chosen = model
        self.endpoints = {name: Endpoint(name) for name in Route}
        self.link = Link(patience)
        self.kind = ServerKind.UNKNOWN
        self.health: HealthFacts | None = None
        self.models: tuple[ModelEntry, ...] = ()
        self.look_wanted = False  # whatever the cadence says
        self.n_refused = 0  # answers in a row by a proxy, in place of the server
        self.restart_suspected = False
        self.props: PropsFacts | None = None
        self.slots: tuple[SlotView, ...] | None = None
        self.told_ids: frozenset[int] = frozenset()
        self.runs_over: Mapping[int, LastRun] = {}
        self.slots_at: float | None = None
        self.metrics: Mapping[str, float | None] = {}
        self.totals = Totals()
        self.turns = Turns()

    def state(self, name: Route) -> EndpointState:
        """What an endpoint last said."""
        return self.endpoints[name].state

    def route(self, name: str) -> tuple[str, dict[str, str]]:
        """Path and parameters of an endpoint of what is watched, such that a router loads no model for it."""
        path = f"/v1/{name}" if name == Route.MODELS and self.kind is not ServerKind.ROUTER else f"/{name}"
        model = self.model_id
        if name not in MODEL_ROUTES or not model:
            return path, {}
        if self.kind is ServerKind.ROUTER:
            return path, {"model": model, "autoload": "false"}
        return (f"/upstream/{quote(model, safe='/:')}{path}" if self.kind is ServerKind.SWAP else path), {}

    # The model

    @property
    def entry(self) -> ModelEntry | None:
        """The chosen model's line in the list of a router or llama-swap."""
        return next((entry for entry in self.models if entry.is_called(self.chosen)), None)

    @property
    def model_id(self) -> str | None:
        """The chosen model's name, as the router spells it."""
        return self.chosen if self.entry is None else self.entry.id

    @property
    def is_proxied(self) -> bool:
        """Whether the slots are behind a router or llama-swap."""
        return self.kind in (ServerKind.ROUTER, ServerKind.SWAP)

    @property
    def is_ready(self) -> bool:
        """Whether there is a server whose slots can be asked without loading a model."""
        return not self.is_proxied or (self.entry is not None and self.entry.state in _READY_WORDS)

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
    def is_older(self) -> bool:
        """Whether the server is of a build before December 2025: it answers, and knows no sleep."""
        return self.props is not None and not self.may_sleep

    @property
    def build_number(self) -> int | None:
        """The number of the server's build, if it tells one."""
        return build_number(self.props.build if self.props else None)

    # Its work

    @property
    def deferred(self) -> int | None:
        """Requests in the deferred queue as /metrics said last."""
        return as_count(self.metrics.get("requests_deferred"))

    @property
    def deferred_age(self) -> float:
        """Seconds by which that count is older than the slots; 0 up to two looks, since they are not read at once."""
        told = self.endpoints[Route.METRICS].answered_at
        if told is None or self.slots_at is None or self.slots_at - told <= 2 * self.cadence.pace + 1:
            return 0.0
        return self.slots_at - told

    @property
    def has_work(self) -> bool:
        """Whether a slot is busy or a request waits, as of the last answers."""
        if any(slot.is_busy for slot in self.slots or ()):
            return True
        return self.state(Route.METRICS) is EndpointState.OK and bool(self.deferred) and not self.deferred_age

    @property
    def metrics_tell(self) -> bool:
        """Whether /metrics may be asked while nothing happens, and then shows that work begins."""
        every = self.cadence.metrics_every
        if every == 0 or (every or 0) > CAP or self.kind is ServerKind.SWAP:
            return False
        if self.state(Route.METRICS) is not EndpointState.OK:
            return False
        number = self.build_number
        is_calm = _NEW_COUNTER in self.metrics if number is None else number >= AUGUST_2026
        return is_calm or not self.may_sleep

    @property
    def holds(self) -> bool:
        """Whether idle slots are not asked at all, so that the model can be unloaded."""
        return self.cadence.at_cap and ((self.metrics_tell and self.may_sleep) or self.kind is ServerKind.SWAP)

    # Who answers

    @property
    def is_foreign(self) -> bool:
        """Whether nothing that answers looks like a llama-server. A server's error (5xx) looks like nothing."""
        first = self.endpoints[Route.PROPS].refusal
        if first is not None and first.is_of_fastapi and self.slots is None:
            return True
        if any(self.state(name) not in UNFIT for name in (Route.PROPS, Route.HEALTH, Route.RUNNING)):
            return False
        if self.state(Route.SLOTS) in _SLOTS_SPEAK:
            return False
        asked = (Route.PROPS, Route.HEALTH, Route.SLOTS)
        return any(self.endpoints[name].is_odd for name in asked) or self._is_bare

    @property
    def _is_bare(self) -> bool:
        """Whether not even the counters can be read, as at a web server, or with a wrong path before the routes."""
        unread = {*UNFIT, EndpointState.KEY} | ({EndpointState.UNKNOWN} if self.cadence.metrics_every == 0 else set())
        return self.state(Route.SLOTS) is EndpointState.ABSENT and self.state(Route.METRICS) in unread
