"""A scenario: a name, the servers it needs, and what a client does there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .client import Client

__all__ = ["ALL", "DIFFERS", "Scenario", "scenario"]

DIFFERS = "differs, as listed"  # the one step of a scenario that may differ, where it is listed
Steps = Callable[[Client], None]
ALWAYS = ("-t", "1", "--no-warmup", "--no-ui")
COMMON = ("-ctk", "f32", "-ctv", "f32", "--metrics", "--slot-save-path", "SAVES")
EXACT = ("-fa", "off")  # its flash attention rounds to 16 bits whatever the cache holds


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
        given = flags.split()
        quantized = any(word.startswith("q") for word in given)
        words = (*ALWAYS, *(() if bare else COMMON), *(() if quantized else EXACT), *given)
        name_value = tuple(env.split("=", 1)) if env else ()
        environment = ((name_value[0], name_value[1]),) if env else ()
        ALL.append(Scenario(name, words, steps, fresh, tuple(listed.split()), environment))
        return steps

    return register
