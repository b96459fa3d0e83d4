"""What the screen talks to: one protocol for the embedded engine, a remote server, a child process, a recording."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from enum import StrEnum
from typing import Any, Protocol

from msgspec import Struct

from .context import LaunchFlags
from .events import EventBatch
from .snapshot import SlotDetails, Snapshot

__all__ = [
    "Backend",
    "BackendError",
    "Capabilities",
    "FireRequest",
    "RequestState",
    "RequestView",
    "RetuneMode",
    "RetunePreview",
    "RetuneReport",
    "SlotAction",
    "SlotActionResult",
    "Ticket",
    "failed",
]


class BackendError(Exception):
    """What the user asked for cannot be done; the text is one line that says why and what to do."""


def failed(why: str) -> Future[Any]:
    """Return a future that has failed with `BackendError` already."""
    future: Future[Any] = Future()
    future.set_exception(BackendError(why))
    return future


class RetuneMode(StrEnum):
    """How `-np`, `-c` and the KV mode can be changed."""

    LIVE = "live"  # at the next step boundary
    RESTART = "restart"  # by restarting a child process
    COMMAND = "command"  # only by the user, with a command line to copy
    NONE = "none"


class Capabilities(Struct, frozen=True):
    """What a backend can do. ``confirm`` names the server if changes to it must be confirmed once per run."""

    fire: bool = False
    retune: RetuneMode = RetuneMode.NONE
    slot_actions: bool = False
    save_files: bool = False
    step: bool = False
    replay: bool = False
    confirm: str | None = None


class FireRequest(Struct, frozen=True):
    """One prompt to send ``count`` times at once. None = the server's default."""

    prompt: str
    count: int = 1
    n_predict: int | None = None
    temperature: float | None = None
    seed: int | None = None
    id_slot: int | None = None
    ignore_eos: bool = False


class RequestState(StrEnum):
    """Stages of a fired request; it ends exactly once, in one of the last three."""

    WAITING = "waiting"
    PROMPT = "prompt"
    GENERATING = "generating"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self in (RequestState.DONE, RequestState.FAILED, RequestState.CANCELLED)


class RequestView(Struct, frozen=True):
    """A fired request as the screen shows it. Times are seconds; None = not known (yet)."""

    number: int
    state: RequestState
    prompt: str
    fired_at: float
    task: int | None = None
    slot: int | None = None
    queue_wait: float | None = None
    first_token: float | None = None  # from firing to the first token
    n_prompt: int | None = None
    n_cached: int | None = None
    n_decoded: int | None = None
    tokens_per_second: float | None = None
    total_seconds: float | None = None
    finish: str | None = None  # eos, limit, word, or the text of the error
    truncated: bool | None = None
    status: int | None = None  # HTTP status of a failure
    waits_since: float | None = None  # when it lost its slot to a retune, while it has no other yet

    def waited(self, now: float) -> float | None:
        """Seconds it waited for a slot, or has waited so far."""
        has_begun = self.queue_wait is not None or self.state is not RequestState.WAITING
        if self.state.is_over or (has_begun and self.waits_since is None):
            return self.queue_wait
        since = self.fired_at if self.waits_since is None else self.waits_since
        return (self.queue_wait or 0.0) + now - since


class Ticket(Protocol):
    """A fired request. All methods return at once and may be called from the screen's thread."""

    @property
    def number(self) -> int:
        """Its number among those fired from here, counted from 1."""

    def view(self) -> RequestView:
        """Return its current state."""

    def take(self) -> str:
        """Return the text that arrived since the last call."""

    def text(self) -> str:
        """Return all text so far."""

    def cancel(self) -> None:
        """Cancel it; its slot is freed at the next step boundary."""


class RetunePreview(Struct, frozen=True):
    """What other launch flags would do, before anything happens. Counts are tokens, sizes bytes, None = unknown.

    ``error`` says in one line why a server cannot start with these flags. ``log`` holds llama-server's own lines,
    ``notes`` say in plain words what they mean and what will be lost, ``unknown`` names what could not be considered.
    ``command`` starts a server with the flags.
    """

    flags: LaunchFlags
    n_slots: int | None = None
    unified: bool | None = None
    n_ctx: int | None = None
    n_ctx_slot: int | None = None
    pool_cells: int | None = None
    kv_bytes: int | None = None
    kv_bytes_now: int | None = None
    log: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    command: str | None = None
    error: str | None = None


class RetuneReport(Struct, frozen=True):
    """What a retune did: requests queued again, tokens processed again, requests ended because they no longer fit."""

    summary: str
    n_requeued: int = 0
    n_tokens_again: int = 0
    n_ended: int = 0


class SlotAction(StrEnum):
    """POST /slots/{id}?action=… (spec §7.4)."""

    SAVE = "save"
    RESTORE = "restore"
    ERASE = "erase"


class SlotActionResult(Struct, frozen=True):
    """What a slot action did, in one line, and how many tokens it concerned."""

    action: SlotAction
    slot: int
    n_tokens: int
    text: str = ""


class Backend(Protocol):
    """Something to watch. `latest`, `events`, `preview` and `submit` never block; what takes longer returns a future.

    What cannot be done raises `BackendError` at once, or fails the future with it. `latest` and `events` may be called
    from any thread, as a recorder does, the rest from the screen's; threads of the backend's own do the work.
    """

    @property
    def capabilities(self) -> Capabilities:
        """What can be asked of it. May change (a server turns out to be a router)."""

    @property
    def flags(self) -> LaunchFlags:
        """The launch flags, as far as known."""

    def start(self) -> None:
        """Begin to work or to poll, in threads of its own."""

    def latest(self) -> Snapshot:
        """Return the newest snapshot, its ``time`` brought up to now."""

    def events(self, after: int) -> EventBatch:
        """Return what happened after a cursor."""

    def submit(self, request: FireRequest) -> Sequence[Ticket]:
        """Fire ``request.count`` requests. Raises `BackendError`."""

    def details(self, slot: int) -> Future[SlotDetails]:
        """Fetch what is known about one slot beyond the snapshot."""

    def preview(self, flags: LaunchFlags) -> RetunePreview:
        """Say what other flags would do."""

    def retune(self, flags: LaunchFlags) -> Future[RetuneReport]:
        """Change the flags, live or by restart."""

    def slot_action(self, action: SlotAction, slot: int, filename: str | None = None) -> Future[SlotActionResult]:
        """Save, restore or erase a slot's cached tokens."""

    def look_now(self) -> None:
        """Poll at once, whatever the interval and even if that wakes a sleeping model: the user asked for it."""

    def set_interval(self, seconds: float) -> None:
        """Poll a server elsewhere at this interval; the embedded engine ignores it."""

    def choose_model(self, name: str) -> None:
        """Watch one of a router's models."""

    def close(self) -> None:
        """Stop all threads; open requests end as cancelled. Idempotent; returns within two seconds."""
