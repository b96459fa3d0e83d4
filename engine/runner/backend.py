"""A llama-server as our child, behind the Backend protocol: watched like any other, and restarted by a retune."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock

from msgspec.structs import replace

from ..backend import (
    BackendError,
    Capabilities,
    FireRequest,
    RetuneMode,
    RetunePreview,
    RetuneReport,
    SlotAction,
    SlotActionResult,
    Ticket,
)
from ..context import ContextError, LaunchFlags, ModelFacts, plan_context
from ..context.memory import total_memory
from ..context.preview import planned
from ..events import EventBatch, EventRing, Notice, Retuned, Severity
from ..remote.backend import RemoteBackend
from ..remote.patience import PATIENT, Patience
from ..snapshot import Health, HealthState, SlotDetails, Snapshot
from ..text.hiding import hiding
from .arguments import address_of, model_path, split_arguments, url_of, without_launch
from .last_words import how_it_ended
from .log_reader import LogReader
from .process import ServerProcess, find_binary, free_port
from .secrets import api_key_of, command_to_copy, secrets_of
from .view import completed, lost_requests, lost_tokens

__all__ = ["RunnerBackend"]

INTERVAL = 0.5  # seconds between two looks
LONGEST_START = 600.0  # seconds
ON_ITS_WAY = (HealthState.CONNECTING, HealthState.REFUSED, HealthState.LOADING, HealthState.NO_ANSWER)
CAPABILITIES = Capabilities(fire=True, retune=RetuneMode.RESTART, slot_actions=True, save_files=True)
WHEN_ENDED = Capabilities(retune=RetuneMode.RESTART)
STARTING = Health(HealthState.CONNECTING, "llama-server has not opened its port yet", "its log says how far it is")


class RunnerBackend:
    """Owns one child at a time. ``arguments`` are llama-server's. Raises `BackendError`.

    The child's log arrives in a thread of its own, restarts run in the worker thread, and the screen (and a recorder)
    call the rest from theirs. ``_lock`` guards which child is the current one and what was heard of it.
    """

    def __init__(
        self, arguments: Sequence[str], *, server_bin: str | None = None, patience: Patience = PATIENT
    ) -> None:
        self._binary = find_binary(server_bin)
        self._flags, self._others = split_arguments(arguments, os.environ)
        self._host, self._port = address_of(self._others, os.environ)
        self._hide = hiding(secrets_of(self._others, os.environ))
        self._facts: ModelFacts | None = None
        self._model: str | None = None
        self._last_port: int | None = None
        self._ring = EventRing()
        self._lock = Lock()
        self._worker = ThreadPoolExecutor(1, "slotview-runner")
        self._heard = 0
        self._interval = INTERVAL
        self._patience = patience
        self._process: ServerProcess | None = None
        self._remote: RemoteBackend | None = None
        self._log = LogReader(time.monotonic, self._hide)
        self._last = Snapshot(health=Health(HealthState.CONNECTING, "starting llama-server"))
        self._ended: Health | None = None
        self._closed = False
        self._watcher(self._port or 1)  # what it cannot use is said before anything starts

    @property
    def capabilities(self) -> Capabilities:
        """Everything; the child is ours, so nothing needs to be confirmed. One that ended can only be started again."""
        process = self._process
        return CAPABILITIES if process is None or process.exit_code is None else WHEN_ENDED

    @property
    def flags(self) -> LaunchFlags:
        """Launch flags of the current child."""
        return self._flags

    def start(self) -> None:
        """Start the child in the background."""
        self._worker.submit(self._read_model)
        self._launch(self._flags)

    def _read_model(self) -> None:
        """Read the sizes for the preview from the model file, if the command line names one."""
        from ..embedded.loading import StartError, facts_of_file

        path = model_path(self._others, os.environ)
        if path is not None:
            try:
                self._facts = facts_of_file(path)
            except StartError as error:
                self._tell(f"the preview knows no sizes: {error}", "warning")

    def _launch(self, flags: LaunchFlags) -> None:
        """Start a child with these flags and watch it."""
        extra = [word for word in ("--metrics",) if word not in self._others]
        if not {"-lv", "--verbosity", "--log-verbosity", "-v", "--verbose"} & set(self._others):
            extra += ["-lv", "4"]  # only the trace lines reveal the pool's size
        self._log = LogReader(time.monotonic, self._hide, self._model)
        words = [*self._others, *flags.arguments(), *extra]
        environ = without_launch(os.environ)
        port = self._last_port = self._port or free_port(self._last_port)
        remote = self._watcher(port)
        with self._lock:
            if self._closed:
                raise BackendError("slotview is ending")
            process = ServerProcess(self._binary, words, self._hear, host=self._host, port=port, environ=environ)
            self._process, self._remote, self._heard, self._ended = process, remote, 0, None
            self._flags = flags
        remote.start()

    def _watcher(self, port: int) -> RemoteBackend:
        """What looks at the child. Raises `BackendError` for an address or a key that it cannot use."""
        url, key = url_of(self._others, os.environ, port), api_key_of(self._others, os.environ)
        try:
            return RemoteBackend(
                url,
                api_key=key,
                model=self._model,
                interval=self._interval,
                backoff=False,
                patience=self._patience,
            )
        except ValueError as error:
            raise BackendError(f"the server could not be watched: {error}") from None

    def _hear(self, line: str) -> None:
        self._ring.extend(self._log.read(line))
        if "listening on" in line:
            self.look_now()  # else at the next try, which is the later the longer the start took

    def _tell(self, text: str, severity: Severity = "information") -> None:
        self._ring.extend([Notice(time.monotonic(), text, severity)])

    def latest(self) -> Snapshot:
        """Return the newest snapshot, completed with what the log reveals."""
        with self._lock:
            process, remote = self._process, self._remote
        if process is None or remote is None:
            return replace(self._last, time=time.monotonic(), health=self._ended or self._last.health)
        snapshot = completed(remote.latest(), self._log.facts, self._flags)
        if process.exit_code is not None:
            snapshot = replace(snapshot, health=self._ending(process), poll=None)
        elif snapshot.health.state is HealthState.REFUSED:
            snapshot = replace(snapshot, health=STARTING)
        elif snapshot.health.state is HealthState.ROUTER and self._model is None:
            snapshot = replace(snapshot, health=replace(snapshot.health, advice="press m to choose one"))
        self._last = snapshot
        return snapshot

    def _ending(self, process: ServerProcess) -> Health:
        """How the child ended by itself, with its last words."""
        if self._ended is not None:
            return self._ended
        message = self._hide(how_it_ended(process.exit_code or 0, process.last_words(40)))
        advice = "see the log; press t to start it again, with these flags or others, q to quit"
        with self._lock:
            if self._ended is None:
                self._ended = Health(HealthState.ENDED, message, advice, time.monotonic())
                self._tell(message, "error")
            return self._ended

    def events(self, after: int) -> EventBatch:
        """Return what happened after a cursor, in the child's log and over HTTP."""
        with self._lock:  # the recorder and the screen ask from two threads, and each event is copied once
            if self._remote is not None:
                batch = self._remote.events(self._heard)
                self._heard = batch.cursor
                self._ring.extend(batch.events)
        return self._ring.after(after)

    def submit(self, request: FireRequest) -> Sequence[Ticket]:
        """Send prompts to the child."""
        return self._watched().submit(request)

    def details(self, slot: int) -> Future[SlotDetails]:
        """Fetch one slot's details."""
        return self._watched().details(slot)

    def _watched(self) -> RemoteBackend:
        if self._remote is None or self._process is None or self._process.exit_code is not None:
            raise BackendError("llama-server is not running; press t to start it again")
        return self._remote

    def preview(self, flags: LaunchFlags) -> RetunePreview:
        """Say what a restart with other flags would do, and what would be lost."""
        facts = self._facts or ModelFacts(n_ctx_train=self._last.facts.n_ctx_train or 2**31 - 1)
        command = command_to_copy(["llama-server", *self._others, *flags.arguments()])
        try:
            plan = plan_context(flags, facts, total_memory())
        except ContextError as error:
            return RetunePreview(flags, error=str(error), command=command)
        lost = f"a restart ends {lost_requests(self._last)} and drops {lost_tokens(self._last)}"
        unknown = () if self._facts else ("sizes: no model file was read",)
        known = RetunePreview(
            flags, kv_bytes_now=self._log.facts.kv_bytes, notes=(lost,), unknown=unknown, command=command
        )
        return planned(known, plan)

    def retune(self, flags: LaunchFlags) -> Future[RetuneReport]:
        """Restart the child with other flags and watch it again."""
        return self._worker.submit(self._restart, flags)

    def _restart(self, flags: LaunchFlags) -> RetuneReport:
        before = self._last
        self._tell("restarting llama-server")
        self._stop()
        self._launch(flags)
        remote = self._remote
        assert remote is not None
        remote.wait_until(lambda seen: seen.health.state not in ON_ITS_WAY or self._has_ended(), LONGEST_START)
        if self.latest().health.state in (*ON_ITS_WAY, HealthState.ENDED):
            raise BackendError(self.latest().health.message)
        summary = f"restarted with {' '.join(flags.arguments()) or 'default flags'}; it ended {lost_requests(before)}"
        self._ring.extend([Retuned(time.monotonic(), summary)])
        return RetuneReport(summary)

    def _has_ended(self) -> bool:
        return self._process is None or self._process.exit_code is not None

    def _stop(self) -> None:
        with self._lock:
            process, remote = self._process, self._remote
            self._process = self._remote = None
        if remote is not None:
            remote.close()
        if process is not None:
            process.stop()

    def slot_action(self, action: SlotAction, slot: int, filename: str | None = None) -> Future[SlotActionResult]:
        """Save, restore or erase a slot of the child."""
        return self._watched().slot_action(action, slot, filename)

    def look_now(self) -> None:
        """Look at once."""
        if self._remote is not None:
            self._remote.look_now()

    def set_interval(self, seconds: float) -> None:
        """Poll the child at this interval."""
        self._interval = seconds
        if self._remote is not None:
            self._remote.set_interval(seconds)

    def choose_model(self, name: str) -> None:
        """Watch one of a router's models, also after a restart."""
        self._watched().choose_model(name)
        self._model = self._log.model = name

    def close(self) -> None:
        """End the child, and with it a restart that is under way. Idempotent."""
        with self._lock:
            self._closed = True
        self._worker.shutdown(wait=False, cancel_futures=True)
        self._stop()
        self._worker.shutdown()
