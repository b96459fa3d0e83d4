"""Fills the command palette with every key of the open screen."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from textual.app import SystemCommand
from textual.screen import Screen

__all__ = ["commands_of"]


def commands_of(screen: Screen[Any]) -> Iterator[SystemCommand]:
    """Yield a command for each action of the screen that is possible now, but for those that move about."""
    seen: set[str] = set()
    for active in screen.active_bindings.values():
        binding = active.binding
        is_told = bool(binding.tooltip) and not binding.system and active.node is not screen.app
        if not is_told or not active.enabled or binding.action in seen:
            continue
        seen.add(binding.action)
        run = partial(screen.app.run_action, binding.action, active.node)
        yield SystemCommand(f"{binding.description} ({screen.app.get_key_display(binding)})", binding.tooltip, run)
