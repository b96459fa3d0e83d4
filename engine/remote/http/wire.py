"""Small GETs over one connection: limited in size and time, retried once, and cut off at will."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from slotview.engine.text.plain import plain

from .address import Address
from .answer import Answer, Fault
from .client import OpenSockets, open_client
from .credentials import Credentials
from .faults import fault_of, transport_errors
from .retry_after import pause_of

if TYPE_CHECKING:
    import httpx

__all__ = ["MAX_BODY", "Wire"]

MAX_BODY = 8 * 1024 * 1024
_ENCODINGS = ("identity", "gzip", "deflate")  # unpacked on arrival


class Wire:
    """GETs over one connection, from one thread; `cut` and `close` may be called from any.

    ``keep`` the connection open between questions only if they follow each other closely: as long as it is open, it
    holds one of the few threads with which llama-server answers (8 for four slots).
    """

    def __init__(self, address: Address, credentials: Credentials, *, keep: bool = True) -> None:
        self._keep = keep
        self._address = address
        self._credentials = credentials
        self._client: httpx.Client | None = None
        self._sockets = OpenSockets()

    def get(
        self, path: str, params: dict[str, str], read_seconds: float, arrives: Callable[[], None] = lambda: None
    ) -> Answer:
        """Ask once; where the kept connection turns out to be dropped, once more on a fresh one.

        ``arrives`` is called when the head of an answer is there, which may be long before its end.
        """
        begin = time.monotonic()
        answer = self._ask(path, params, read_seconds, arrives)
        if answer.fault is Fault.DROPPED:
            answer = self._ask(path, params, read_seconds, arrives)
        return replace(answer, seconds=time.monotonic() - begin)

    def _ask(self, path: str, params: dict[str, str], read_seconds: float, arrives: Callable[[], None]) -> Answer:
        import httpx

        has_begun = False
        timeout = httpx.Timeout(read_seconds, connect=min(4.0, read_seconds))
        extensions = {"trace": self._sockets.trace}
        try:
            if self._client is None:
                self._client = open_client(self._address, self._credentials, keep=int(self._keep))
            with self._client.stream("GET", path, params=params, timeout=timeout, extensions=extensions) as response:
                has_begun = True
                arrives()
                return _read(response, time.monotonic() + 2 * read_seconds)
        except httpx.DecodingError:
            return Answer(fault=Fault.GARBLED, message="an answer that cannot be unpacked")
        except transport_errors() as error:
            fault, message = fault_of(error)
            if has_begun and fault is Fault.TIMEOUT:
                fault, message = Fault.SLOW, "the answer stopped in the middle"
            return Answer(fault=fault, message=message)

    def cut(self) -> None:
        """Break the present wait; `get` then asks once more."""
        self._sockets.cut()

    def close(self) -> None:
        """Break the present wait and every later one."""
        self._sockets.cut(for_good=True)

    def dispose(self) -> None:
        """Free the connection, from the thread that used it."""
        if self._client is not None:
            self._client.close()


def _read(response: httpx.Response, deadline: float) -> Answer:
    """Read a body up to the limit and the deadline; what goes beyond costs the connection, not the memory."""
    announced = response.headers.get("content-length", "")
    if announced.isdigit() and int(announced) > MAX_BODY:
        return _too_large(response)
    parts: list[bytes] = []
    size = 0
    for part in response.iter_bytes():
        size += len(part)
        if size > MAX_BODY:
            return _too_large(response)
        if time.monotonic() > deadline:
            return Answer(fault=Fault.SLOW, message="the answer trickles in too slowly")
        parts.append(part)
    encoding = response.headers.get("content-encoding", "identity")
    is_compressed = encoding not in _ENCODINGS and size == response.num_bytes_downloaded
    if is_compressed and response.is_success:
        return Answer(fault=Fault.GARBLED, message=f"an answer compressed with {plain(encoding, 20)}, unasked")
    return _whole(response, b"" if is_compressed else b"".join(parts))


def _too_large(response: httpx.Response) -> Answer:
    return Answer(response.status_code, fault=Fault.TOO_LARGE, message=f"answer over {MAX_BODY // 2**20} MB")


def _whole(response: httpx.Response, body: bytes) -> Answer:
    """An answer with those of its headers that matter."""
    headers = response.headers
    age = headers.get("age", "")
    return Answer(
        response.status_code,
        body,
        start_mark=headers.get("process-start-time-unix"),
        pointer=headers.get("location" if response.status_code < 400 else "www-authenticate", ""),
        age=float(age[:9]) if age.isdecimal() else 0.0,
        pause=pause_of(headers.get("retry-after", ""), headers.get("date", "")),
    )
