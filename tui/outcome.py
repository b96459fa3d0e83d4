"""Waits for a backend's future without blocking the screen, and without cancelling it when the screen closes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

__all__ = ["outcome"]

T = TypeVar("T")


async def outcome(ask: Callable[[], Future[T]]) -> T:
    """Ask, and return the answer. Raises `BackendError` if the question or the answer fails."""
    return await asyncio.shield(asyncio.wrap_future(ask()))
