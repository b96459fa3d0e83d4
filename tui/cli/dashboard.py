"""The commands that open the screen on something of our own: the engine, the demo, a child server, a recording."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .common import DEFAULT_PACE, fail, load_config, read_flags
from .screen import ScreenOptions, chosen_theme, open_dashboard, run_app

if TYPE_CHECKING:
    from slotview.engine.flags import EngineFlags
    from slotview.engine.serve.beside import Beside

__all__ = ["start_dashboard", "start_demo", "start_replay", "start_runner"]

DEMO_FLAGS = ("-c", "8192", "-np", "4")


def start_dashboard(words: Sequence[str], options: ScreenOptions, *, listen: str | None) -> None:
    """``slotview``: the screen over the embedded engine."""
    from slotview.engine.embedded.local import LocalBackend

    saved = load_config()
    flags = read_flags(words, usual_pace=(saved and saved.pace) or DEFAULT_PACE)
    face = None if listen is None else _http_face(listen, flags)
    backend = LocalBackend(flags, on_ready=face, served_at=face.address if face else None)
    open_dashboard(backend, options, saved)
    if backend.error:
        fail(backend.error)


def _http_face(listen: str, flags: EngineFlags) -> Beside:
    """Listen at [HOST:]PORT; what is returned serves the engine there once it runs."""
    from slotview.engine.serve.beside import listen_beside

    try:
        return listen_beside(listen, flags)
    except OSError as error:
        fail(f"--listen {listen}: {error.strerror or error}; choose another port")
    except ValueError as error:
        fail(f"--listen {listen}: {error}", 2)


def start_demo(words: Sequence[str], options: ScreenOptions) -> None:
    """``slotview demo``: the scripted minute."""
    from slotview.engine.embedded.local import LocalBackend

    from ..lessons.demo import DemoApp

    saved = load_config()
    backend = LocalBackend(read_flags([*DEMO_FLAGS, *words], usual_pace=DEFAULT_PACE))
    run_app(DemoApp(backend, theme=chosen_theme(options, saved)), backend)


def start_runner(words: Sequence[str], options: ScreenOptions, *, server_bin: str | None) -> None:
    """``slotview run``: a real llama-server as our child."""
    from slotview.engine.backend import BackendError
    from slotview.engine.runner.backend import RunnerBackend

    saved = load_config()
    try:
        backend = RunnerBackend(list(words), server_bin=server_bin)
    except BackendError as error:
        fail(error, 2)
    open_dashboard(backend, options, saved)


def start_replay(path: str, options: ScreenOptions, *, speed: float) -> None:
    """``slotview replay``: a recording on the screen."""
    from slotview.engine.backend import BackendError
    from slotview.engine.observe.recording.replay import ReplayBackend

    try:
        backend = ReplayBackend(path, speed=speed)
    except BackendError as error:
        fail(error)
    open_dashboard(backend, options, load_config())
