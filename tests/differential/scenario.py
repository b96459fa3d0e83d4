"""A scenario: a name, the servers it needs, and what a client does there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .client import Client

__all__ = ["ALL", "Scenario", "scenario"]

Steps = Callable[[Client], None]
COMMON = ("-t", "1", "--no-warmup", "-ctk", "f32", "-ctv", "f32", "--metrics", "--slot-save-path", "SAVES")


@dataclass(frozen=True, slots=True)
class Scenario:
    """``fresh`` needs servers that nobody has used. ``listed`` names the differences it expects, by the docs' keys."""

    name: str
    flags: tuple[str, ...]
    steps: Steps
    fresh: bool = False
    listed: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()


ALL: list[Scenario] = []


def scenario(
    name: str, flags: str = "-c 512 -np 2", *, fresh: bool = False, bare: bool = False, listed: str = "", env: str = ""
) -> Callable[[Steps], Steps]:
    """Register steps. ``bare`` leaves out the flags that all others have; ``env`` is ``NAME=VALUE``."""

    def register(steps: Steps) -> Steps:
        words = (*(() if bare else COMMON), *flags.split())
        name_value = tuple(env.split("=", 1)) if env else ()
        environment = ((name_value[0], name_value[1]),) if env else ()
        ALL.append(Scenario(name, words, steps, fresh, tuple(listed.split()), environment))
        return steps

    return register
