"""What a watcher sees: the frozen data that a backend hands to the screen.

``None`` always means *not known*; it never stands for zero. Times are seconds on the backend's own clock
(`Snapshot.time` is "now" on that clock), so that no code downstream has to read one.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from msgspec import Struct, field

__all__ = [
    "EMPTY",
    "EndpointState",
    "EndpointView",
    "Health",
    "HealthState",
    "KvPool",
    "PaceView",
    "PollView",
    "ServerFacts",
    "SlotDetails",
    "SlotState",
    "SlotView",
    "Snapshot",
    "Totals",
    "WaitingRequest",
    "WaitingView",
]


class SlotState(StrEnum):
    """What a slot is doing, as far as an observer can tell (spec §4.1)."""

    UNUSED = "unused"  # never had a task
    IDLE = "idle"
    PROMPT = "prompt"  # busy, no token sampled yet
    GENERATING = "generating"
    BUSY = "busy"  # with what, the server does not say
    UNKNOWN = "unknown"  # not even whether it is busy


_BUSY = (SlotState.PROMPT, SlotState.GENERATING, SlotState.BUSY)
_IDLE = (SlotState.UNUSED, SlotState.IDLE)


class SlotView(Struct, frozen=True, omit_defaults=True):
    """One slot. Counts are tokens.

    ``n_tokens`` is what the slot's KV holds now, prompt and answer together (``n_prompt_tokens`` of /slots, spec §7.3).
    ``n_prompt`` is the whole prompt's length, which no endpoint of llama-server reports.
    ``task`` is the running task, or the last one while idle.
    """

    id: int
    state: SlotState
    n_ctx: int | None = None
    task: int | None = None
    n_tokens: int | None = None
    n_prompt: int | None = None
    n_prompt_processed: int | None = None
    n_prompt_cached: int | None = None
    n_decoded: int | None = None
    n_remain: int | None = None  # None while idle or if not reported
    unlimited: bool = False  # the task has no limit of its own ("no limit" on screen)
    truncated: bool | None = None
    state_word: str | None = None  # a look-alike server's own word for the state
    prompt_seconds: float | None = None  # of n_prompt_processed; exact; only the embedded engine reports it
    generation_seconds: float | None = None  # of n_decoded without n_untimed
    n_untimed: int = 1  # tokens that came with a prompt's last batch: the first, and one for each retune
    started_at: float | None = None  # when the running task took the slot

    @property
    def is_busy(self) -> bool:
        """Whether a task is known to hold the slot."""
        return self.state in _BUSY

    @property
    def is_idle(self) -> bool:
        """Whether it is known that no task holds the slot."""
        return self.state in _IDLE


class WaitingRequest(Struct, frozen=True, omit_defaults=True):
    """A request in the deferred queue, in queue order."""

    task: int
    n_prompt: int | None = None
    id_slot: int | None = None  # the pin; None = any slot
    since: float | None = None
    kind: str = "completion"  # or "save", "restore", "erase"


class WaitingView(Struct, frozen=True, omit_defaults=True):
    """The deferred queue. If ``count`` is None, ``why`` says why it is unknown and what would reveal it.

    ``why`` beside a count says that it is older than the slots.
    """

    count: int | None = None
    requests: tuple[WaitingRequest, ...] | None = None
    why: str | None = None

    @property
    def now(self) -> int | None:
        """The count where it is as new as the slots, so that the two may be held together."""
        return self.count if self.why is None else None


class KvPool(Struct, frozen=True, omit_defaults=True):
    """The KV cells of all slots together, in tokens.

    ``cells`` is the pool's size; if that is unknown, ``candidates`` lists what it could be. ``active`` counts the
    tokens of busy slots, ``cached`` those kept in idle ones. ``estimated``: the counts were summed over the slots, not
    taken from the cells.
    """

    unified: bool | None = None
    cells: int | None = None
    candidates: tuple[int, ...] = ()
    active: int | None = None
    cached: int | None = None
    estimated: bool = False
    n_bytes: int | None = None
    why: str | None = None

    @property
    def used(self) -> int | None:
        """Tokens held by busy and idle slots together."""
        return None if self.active is None or self.cached is None else self.active + self.cached

    @property
    def free(self) -> int | None:
        """Cells without a token; None if the pool's size is unknown."""
        return None if self.cells is None or self.used is None else max(0, self.cells - self.used)


class Totals(Struct, frozen=True, omit_defaults=True):
    """Counters since the server started (spec §7.6); None = not reported."""

    prompt_tokens: float | None = None
    prompt_tokens_cached: float | None = None
    prompt_seconds: float | None = None
    predicted_tokens: float | None = None
    predicted_seconds: float | None = None  # summed over slots
    decodes: float | None = None
    busy_per_decode: float | None = None  # None also before the first decode
    n_tokens_max: float | None = None
    processing: int | None = None
    kv_ratio: float | None = None  # only servers before May 2025 and forks


class HealthState(StrEnum):
    """Whether what is watched works, as far as that is known."""

    OK = "ok"
    CONNECTING = "connecting"
    LOADING = "loading"
    REFUSED = "refused"
    NO_ANSWER = "no answer"
    STALLED = "not scheduling"  # /health answers, /slots does not
    KEY = "key needed"
    ASLEEP = "asleep"
    ROUTER = "router"  # no model chosen yet
    NOTHING = "nothing to monitor"
    FOREIGN = "not a llama-server"
    ERROR = "error"
    ENDED = "ended"


class Health(Struct, frozen=True, omit_defaults=True):
    """The state in a word or two; what happened and what to do about it in one line each."""

    state: HealthState = HealthState.CONNECTING
    message: str = ""
    advice: str = ""
    since: float | None = None

    @property
    def is_live(self) -> bool:
        """Whether the data on the screen are current."""
        return self.state in (HealthState.OK, HealthState.ASLEEP)


class EndpointState(StrEnum):
    """What one endpoint of a server elsewhere last said."""

    UNKNOWN = "not asked"
    OK = "ok"
    OFF = "switched off"
    ABSENT = "absent"
    KEY = "key needed"
    LOADING = "loading"
    NO_ANSWER = "no answer"
    REFUSED = "refused"
    BAD = "unreadable"
    TOO_LARGE = "answer too large"


class EndpointView(Struct, frozen=True, omit_defaults=True):
    """One endpoint: its state, a note to show, when it last answered, and how many seconds that took."""

    state: EndpointState = EndpointState.UNKNOWN
    note: str = ""
    answered_at: float | None = None
    seconds: float | None = None


class PollView(Struct, frozen=True, omit_defaults=True):
    """How often a remote server is polled. ``idle_gap``: the current gap between looks at /slots while it is idle."""

    interval: float
    idle_gap: float | None = None
    note: str = ""


class PaceView(Struct, frozen=True, omit_defaults=True):
    """How the embedded engine's steps are timed. ``lag`` above 1: this machine takes that many times as long."""

    profile: str = "off"
    lag: float | None = None

    @property
    def is_paced(self) -> bool:
        """Whether the times on the screen are a device profile's rather than this machine's."""
        return self.profile != "off"


class ServerFacts(Struct, frozen=True, omit_defaults=True):
    """What stays the same while a server runs; None = not reported.

    ``source`` is "embedded", a URL without secrets, or a recording's name. ``n_ctx`` is the total of ``-c`` after
    rounding, ``n_ctx_asked`` what was asked for if that differs, ``n_ctx_slot`` one slot's limit. ``batching`` is
    "continuous" or "static". ``served_at`` is where the embedded engine answers HTTP, too. ``run`` is another
    one after each start.
    """

    source: str = ""
    model: str | None = None
    model_path: str | None = None
    n_params: int | None = None
    n_ctx_train: int | None = None
    n_slots: int | None = None
    n_ctx: int | None = None
    n_ctx_asked: int | None = None
    n_ctx_slot: int | None = None
    unified: bool | None = None
    n_batch: int | None = None
    n_ubatch: int | None = None
    type_k: str | None = None
    type_v: str | None = None
    batching: str | None = None
    build: str | None = None
    models: tuple[tuple[str, str], ...] = ()  # a router's models: (name, state)
    endpoints: Mapping[str, EndpointView] = field(default_factory=lambda: MappingProxyType({}))
    served_at: str | None = None
    run: str | None = None


class Snapshot(Struct, frozen=True, omit_defaults=True):
    """Everything the screen shows at one moment. ``slots`` None = the server does not show its slots."""

    time: float = 0.0
    serial: int = 0
    facts: ServerFacts = ServerFacts()
    health: Health = Health()
    slots: tuple[SlotView, ...] | None = None
    slots_at: float | None = None  # when the slots were reported; they age while a server does not answer
    waiting: WaitingView = WaitingView()
    pool: KvPool = KvPool()
    totals: Totals = Totals()
    poll: PollView | None = None
    pace: PaceView | None = None
    is_replayed: bool = False  # from a recording: how it was then, not how it is now

    @property
    def busy(self) -> int | None:
        """Busy slots now; a server that does not show its slots, or not all, may still count them in /metrics."""
        states = [slot.state for slot in self.slots or ()]
        if self.slots is None or SlotState.UNKNOWN in states:
            return self.totals.processing
        return sum([state in _BUSY for state in states])

    @property
    def age(self) -> float | None:
        """Seconds since the slots were reported."""
        return None if self.slots_at is None else max(0.0, self.time - self.slots_at)


class SlotDetails(Struct, frozen=True, omit_defaults=True):
    """One slot's parameters, timings and text, as far as known; fetched on request, never part of a snapshot.

    ``view`` is the slot at the same moment.
    """

    slot: int
    params: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    timings: Mapping[str, float | int | None] = field(default_factory=lambda: MappingProxyType({}))
    prompt: str | None = None
    generated: str | None = None
    note: str = ""
    view: SlotView | None = None


EMPTY = Snapshot()
