"""``slotview --listen``: the HTTP face beside the dashboard, over the same engine."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread

from ..flags import EngineFlags
from ..host import EngineHost
from ..pace import microseconds

__all__ = ["listen_beside", "split_address"]


def split_address(text: str) -> tuple[str, int]:
    """``[HOST:]PORT``; the host defaults to this machine alone. Raises `ValueError`."""
    host, _, port = text.rpartition(":")
    if not port.isdigit() or not 0 <= int(port) <= 65535:
        raise ValueError("give [HOST:]PORT with a port from 0 to 65535")
    return host.strip("[]") or "127.0.0.1", int(port)


def listen_beside(address: str, flags: EngineFlags) -> Callable[[EngineHost], None]:
    """Bind now, so that a taken port is told at once; serve when the engine is ready.

    Raises `OSError` or `ValueError`.
    """
    from .http_server import bind, make_server
    from .state import ServerState, read_keys

    host, port = split_address(address)
    state = ServerState(flags, read_keys(flags), started_us=microseconds())
    listening = bind(host, port)
    server = make_server(state)
    Thread(target=server.run, args=([listening],), name="slotview-http", daemon=True).start()

    def ready(engine: EngineHost) -> None:
        state.host = engine

    return ready
