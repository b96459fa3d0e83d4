"""Loading the model behind a socket that is open already (spec §7.1), and the log lines from then on."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Thread

import uvicorn

from ..context.lines import plan_lines
from ..embedded.host import EngineHost
from ..embedded.loading import StartError, build_core, load
from ..events import EventBatch, EventRing, LogLine
from ..pace import microseconds
from .printer import LogPrinter
from .start_lines import start_lines
from .state import ServerState

__all__ = ["Loader"]


class Loader(Thread):
    """Loads the model and lets requests in. Where that goes wrong it ends the server and has ``failed``."""

    def __init__(self, state: ServerState, log: LogPrinter, server: uvicorn.Server, addresses: Sequence[str]) -> None:
        super().__init__(daemon=True)
        self._state = state
        self._log = log
        self._server = server
        self._addresses = addresses
        self.failed = False

    def run(self) -> None:
        """What the thread does."""
        flags, log = self._state.flags, self._log
        name = flags.model or "the bundled model"
        log.line("I", f"srv    load_model: loading model '{name}'")
        try:
            model = load(flags)
            core = build_core(flags, model, microseconds())
            host = EngineHost(core, flags.device, EventRing(65536))
        except Exception as error:  # whatever it is, a server that never gets ready helps nobody
            why = str(error) if isinstance(error, StartError) else f"{type(error).__name__}: {error}"
            log.line("E", f"srv    load_model: failed to load model, '{name}': {why}")
            self.failed = True
            self._server.should_exit = True
            return
        for warning in model.tokenizer.warnings:
            log.line("W", f"load: {warning}")
        for level, text in plan_lines(core.plan):
            log.line(level, text)
        for level, text in start_lines(flags, self._state.template_of(model.tokenizer), unified=core.plan.unified):
            log.line(level, text)
        host.start()
        Thread(target=_follow, args=(host, log), name="slotview-log", daemon=True).start()
        self._state.host = host
        log.line("I", "srv  llama_server: model loaded")
        for address in self._addresses:
            log.line("I", f"srv  llama_server: listening on {address}")


def _follow(host: EngineHost, log: LogPrinter) -> None:
    """Print the core's log lines as they come."""
    batch, goes_on = EventBatch(), True
    while goes_on:
        goes_on = host.is_running  # asked first: what it said last is printed too
        batch = host.ring.wait_after(batch.cursor, timeout=0.5)
        for event in batch.events:
            if isinstance(event, LogLine):
                log.line(event.level, event.text, round(event.time * 1e6))
