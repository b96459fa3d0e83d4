"""The command palette offers every key of the open screen."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from textual.app import SystemCommand
from textual.screen import Screen

__all__ = ["commands_of"]


def commands_of(screen: Screen[Any]) -> Iterator[SystemCommand]:
    """Yield a command for each action of the screen that can be done now."""
    seen: set[str] = set()
    for active in screen.active_bindings.values():
        binding = active.binding
        if not active.enabled or not binding.tooltip or binding.action in seen or active.node is screen.app:
            continue
        seen.add(binding.action)
        run = partial(screen.app.run_action, binding.action, active.node)
        yield SystemCommand(_title(binding.description, binding.key), binding.tooltip, run)


def _title(description: str, key: str) -> str:
    return f"{description} ({key})" if len(key) == 1 else description
