"""How long a server of a test takes to end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace

import pytest


@pytest.fixture(scope="session", autouse=True)
def _ends_at_once() -> Iterator[None]:
    """Let uvicorn, which looks ten times a second whether it should end, look two hundred times."""

    async def sleep(seconds: float) -> None:
        await asyncio.sleep(seconds / 20)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("uvicorn.server.asyncio", SimpleNamespace(**{**vars(asyncio), "sleep": sleep}))
        yield
