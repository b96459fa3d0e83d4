"""What is remarked about a request that is taken all the same; the server's log tells it, as llama-server's does."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

__all__ = ["listen", "remark"]

_listener: ContextVar[Callable[[str], None]] = ContextVar("listener", default=lambda _: None)


def listen(listener: Callable[[str], None]) -> None:
    """Let a listener hear all remarks about the request that is being handled."""
    _listener.set(listener)


def remark(text: str) -> None:
    """Say something about the request that is being handled."""
    _listener.get()(text)
