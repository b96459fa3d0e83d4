"""A scripted backend for tests: its clock stands still, and its futures complete only when a test says so."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from slotview.engine.backend import (
    BackendError,
    Capabilities,
    FireRequest,
    RequestState,
    RequestView,
    RetuneMode,
    RetunePreview,
    RetuneReport,
    SlotAction,
    SlotActionResult,
)
from slotview.engine.context import ContextError, LaunchFlags, ModelFacts, plan_context
from slotview.engine.context.kv_size import KvShape
from slotview.engine.context.preview import planned
from slotview.engine.events import Event, EventBatch, EventRing
from slotview.engine.snapshot import EMPTY, SlotDetails, Snapshot

MODEL = ModelFacts(n_ctx_train=8192, shape=KvShape(n_layer=6, n_head_kv=2, head_dim_k=32, head_dim_v=32))


@dataclass
class FakeTicket:
    """A fired request; the test decides what happens to it."""

    number: int
    request: FireRequest
    state: RequestState = RequestState.WAITING
    said: str = ""
    taken: int = 0
    finish: str | None = None
    seen: dict[str, Any] = field(default_factory=dict)

    def view(self) -> RequestView:
        """Its present state."""
        view = RequestView(self.number, self.state, self.request.prompt, fired_at=100.0, finish=self.finish)
        return replace(view, **self.seen)

    def take(self) -> str:
        """Text since the last call."""
        new, self.taken = self.said[self.taken :], len(self.said)
        return new

    def text(self) -> str:
        """All text."""
        return self.said

    def cancel(self) -> None:
        """End as cancelled."""
        if not self.state.is_over:
            self.state = RequestState.CANCELLED

    def say(self, text: str, **seen: Any) -> None:
        """Let text arrive, and change fields of its view."""
        self.state, self.said = RequestState.GENERATING, self.said + text
        self.seen |= seen

    def end(self, finish: str = "eos", state: RequestState = RequestState.DONE) -> None:
        """Let it end."""
        self.state, self.finish = state, finish


class FakeBackend:
    """Implements `Backend` over what the test sets. ``calls`` lists what was asked, ``futures`` the answers owed."""

    def __init__(self, snapshot: Snapshot = EMPTY, retune: RetuneMode = RetuneMode.LIVE, **can: Any) -> None:
        self.snapshot = replace(snapshot, time=100.0 if snapshot.time == 0.0 else snapshot.time)
        self.ring = EventRing()
        self.capabilities = replace(Capabilities(fire=True, retune=retune, slot_actions=True), **can)
        self.flags = LaunchFlags(ctx_size=8192, parallel=4)
        self.tickets: list[FakeTicket] = []
        self.calls: list[tuple[object, ...]] = []
        self.futures: list[Future[object]] = []
        self.refuse: str | None = None
        self.started = self.closed = False

    def push(self, snapshot: Snapshot, *events: Event) -> None:
        """Publish a snapshot and what happened since the last one."""
        self.snapshot = replace(snapshot, serial=self.snapshot.serial + 1)
        self.ring.extend(events)

    def start(self) -> None:
        """Note the call."""
        self.started = True

    def latest(self) -> Snapshot:
        """The snapshot set last."""
        return self.snapshot

    def events(self, after: int) -> EventBatch:
        """Events pushed after a cursor."""
        return self.ring.after(after)

    def submit(self, request: FireRequest) -> list[FakeTicket]:
        """Hand out waiting tickets."""
        self.calls.append(("submit", request))
        if self.refuse:
            raise BackendError(self.refuse)
        first = len(self.tickets) + 1
        made = [FakeTicket(first + index, request) for index in range(request.count)]
        self.tickets += made
        return made

    def _future(self, *call: object) -> Future[Any]:
        self.calls.append(call)
        self.futures.append(Future())
        return self.futures[-1]

    def details(self, slot: int) -> Future[SlotDetails]:
        """An open future."""
        return self._future("details", slot)

    def preview(self, flags: LaunchFlags) -> RetunePreview:
        """The real arithmetic for a small model."""
        try:
            plan = plan_context(flags, MODEL)
        except ContextError as error:
            return RetunePreview(flags, error=str(error))
        command = " ".join(["llama-server", "-m", "model.gguf", *flags.arguments()])
        now = plan_context(self.flags, MODEL)
        return planned(RetunePreview(flags, kv_bytes_now=now.kv_bytes, command=command), plan)

    def retune(self, flags: LaunchFlags) -> Future[RetuneReport]:
        """An open future."""
        return self._future("retune", flags)

    def slot_action(self, action: SlotAction, slot: int, filename: str | None = None) -> Future[SlotActionResult]:
        """An open future."""
        return self._future("slot_action", action, slot, filename)

    def look_now(self) -> None:
        """Note the call."""
        self.calls.append(("look_now",))

    def set_interval(self, seconds: float) -> None:
        """Note the call; a poller tells its new interval at once."""
        self.calls.append(("set_interval", seconds))
        if self.snapshot.poll is not None:
            self.snapshot = replace(self.snapshot, poll=replace(self.snapshot.poll, interval=seconds))

    def choose_model(self, name: str) -> None:
        """Note the call."""
        self.calls.append(("choose_model", name))

    def close(self) -> None:
        """Note the call."""
        self.closed = True
