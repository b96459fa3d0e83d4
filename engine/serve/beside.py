"""``slotview --listen``: the HTTP face beside the dashboard, over the same engine."""

from __future__ import annotations

from threading import Thread
from typing import TYPE_CHECKING

from ..embedded.host import EngineHost
from ..flags import EngineFlags
from ..pace import microseconds

if TYPE_CHECKING:
    from .state import ServerState

__all__ = ["Beside", "listen_beside", "split_address"]


def split_address(text: str) -> tuple[str, int]:
    """``[HOST:]PORT``; the host defaults to this machine alone. Raises `ValueError`."""
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdecimal() and len(port) <= 5 and int(port) <= 65535):
        raise ValueError("give [HOST:]PORT with a port from 0 to 65535")
    return host.strip("[]") or "127.0.0.1", int(port)


class Beside:
    """Listens already; called with the engine once that runs, it serves it. ``address`` is where."""

    def __init__(self, address: str, state: ServerState) -> None:
        self.address = address
        self._state = state

    def __call__(self, engine: EngineHost) -> None:
        """Serve the engine."""
        self._state.host = engine


def listen_beside(address: str, flags: EngineFlags) -> Beside:
    """Bind now, so that a taken port is told at once; serve when the engine is ready. Port 0 takes any free one.

    Raises `OSError` or `ValueError`.
    """
    from .http_server import address_of, bind, make_server
    from .state import ServerState, read_keys

    host, port = split_address(address)
    state = ServerState(flags, read_keys(flags), started_us=microseconds())
    listening = bind(host, port)
    server = make_server(state)
    Thread(target=server.run, args=([listening],), name="slotview-http", daemon=True).start()
    return Beside(address_of(listening, host), state)
