"""The command ``attach``: servers elsewhere, named by address or in the configuration file."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from .common import fail, load_config
from .screen import ScreenOptions, chosen_refresh, chosen_theme, open_dashboard, run_app

if TYPE_CHECKING:
    from slotview.engine.backend import Backend
    from slotview.engine.context import ModelFacts
    from slotview.engine.settings import Settings

__all__ = ["AttachOptions", "start_attach", "start_once"]

API_KEY_ENV = "LLAMA_API_KEY"
"""Holds the key of a server for which the configuration file names no variable."""


class AttachOptions(Struct, frozen=True):
    """How to watch servers elsewhere. Times are seconds, None = the default. ``models``: names, and files (.gguf)."""

    models: tuple[str, ...] = ()
    api_key: str | None = None
    interval: float | None = None
    metrics_every: float | None = None
    backoff: bool = True

    @property
    def model(self) -> str | None:
        """The model chosen by name."""
        return next((model for model in self.models if not model.endswith(".gguf")), None)

    @property
    def file(self) -> str | None:
        """The model file that gives sizes in bytes."""
        return next((model for model in self.models if model.endswith(".gguf")), None)


class Target(Struct, frozen=True):
    """One server to watch: where it is, the key it wants, and the model chosen of a router's."""

    url: str
    api_key: str | None
    model: str | None


def start_attach(names: Sequence[str], options: AttachOptions, screen: ScreenOptions) -> None:
    """``slotview attach``: the dashboard of one server, or an overview of several."""
    saved = load_config()
    backends = _backends(names, options, saved)
    if len(backends) == 1:
        open_dashboard(backends[0][1], screen, saved)
        return
    if screen.record is not None:
        fail("--record keeps one server: slotview attach URL --record FILE", 2)
    from ..overview import OverviewApp

    refresh = chosen_refresh(screen, saved, default=0.5)
    app = OverviewApp(backends, refresh=refresh, theme=chosen_theme(screen, saved))
    run_app(app, *(backend for _, backend in backends))


def start_once(names: Sequence[str], options: AttachOptions, *, as_json: bool) -> None:
    """``slotview attach URL --once``: one look, for scripts."""
    import json

    from slotview.engine.remote.once import look_once, snapshot_once
    from slotview.engine.remote.once_text import format_once

    if len(names) != 1:
        fail("--once looks at one server: slotview attach URL --once --json", 2)
    target = _target(names[0], options, load_config())
    try:
        if as_json:
            report, code = snapshot_once(target.url, api_key=target.api_key, model=target.model)
            text = json.dumps(report, ensure_ascii=True)
        else:
            snapshot, code = look_once(target.url, api_key=target.api_key, model=target.model)
            text = format_once(snapshot)
    except ValueError as error:
        fail(error, 2)
    print(text)
    sys.exit(code)


def _backends(names: Sequence[str], options: AttachOptions, saved: Settings | None) -> list[tuple[str, Backend]]:
    """Make a named backend for each address or configured name; without any, for all configured servers."""
    from slotview.engine.remote.backend import RemoteBackend
    from slotview.engine.sleepless import sleepless

    configured = saved.servers if saved else {}
    if not names and not configured:
        fail("attach needs a URL, for example: slotview attach http://127.0.0.1:8080", 2)
    interval = options.interval or (saved.interval if saved else None) or 1.0
    metrics_every = options.metrics_every
    if metrics_every is None and saved:
        metrics_every = saved.metrics_every
    facts = _facts(options.file)
    found: list[tuple[str, Backend]] = []
    for name in names or configured:
        target = _target(name, options, saved)
        try:
            backend = RemoteBackend(
                target.url,
                api_key=target.api_key,
                model=target.model,
                interval=interval,
                metrics_every=metrics_every,
                backoff=options.backoff,
                facts=facts,
                clock=sleepless,
            )
        except ValueError as error:
            fail(f"servers.{name}: {error}" if name in configured else error, 2)
        found.append((name if name in configured else backend.latest().facts.source, backend))
    return found


def _target(name: str, options: AttachOptions, saved: Settings | None) -> Target:
    """What an address, or a name from the configuration file, stands for; options win over the file.

    A server gets the key that its own variable holds: that of another would tell it a secret.
    """
    entry = saved.servers.get(name) if saved else None
    if entry is None:
        return Target(name, options.api_key or os.environ.get(API_KEY_ENV), options.model)
    return Target(entry.url, options.api_key or os.environ.get(entry.api_key_env), options.model or entry.model)


def _facts(path: str | None) -> ModelFacts | None:
    """Sizes from a model file, if one is given; exits with one line if it cannot be read."""
    if path is None:
        return None
    from slotview.engine.embedded.loading import StartError, facts_of_file

    try:
        return facts_of_file(path)
    except StartError as error:
        fail(error, 2)
