"""``--fit``: an unset context shrinks until it fits the machine's memory (spec §2.2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .lines import ContextLine

if TYPE_CHECKING:
    from .plan import LaunchFlags

__all__ = ["fit_context"]

MIB = 1024 * 1024
UNABLE = "was unable to fit model into system memory by reducing context, abort"


def fit_context(
    flags: LaunchFlags, wanted: int, n_stream: int, memory: int, used: Callable[[int], int]
) -> tuple[int, list[ContextLine]]:
    """How many tokens become of those wanted, and what the log says. ``used``: bytes that so many tokens take.

    Only a context that no flag names is made smaller; of others the log says that they take too much.
    """
    room = memory - flags.fit_target * MIB
    over = used(wanted) - room
    if over <= 0:
        return wanted, []
    low = flags.fit_ctx * n_stream
    target = f"{flags.fit_target} MiB, need to reduce device memory by {over // MIB} MiB"
    told = [_line("T", f"cannot meet free memory target of {target}")]
    kept = _why_kept(flags, wanted, low)
    if kept:
        return wanted, [*told, _line("T", f"{kept} -> no change"), _failed()]
    tokens = _shrunk(wanted, low, 256 * n_stream, room, used)
    less = (used(wanted) - used(tokens)) // MIB
    told.append(_line("T", f"context size reduced from {wanted} to {tokens} -> need {less} MiB less memory in total"))
    fits = room > used(low)
    return tokens, [*told, _line("T", "entire model can be fit by reducing context") if fits else _failed()]


def _why_kept(flags: LaunchFlags, wanted: int, low: int) -> str:
    if flags.ctx_size == 0:
        return f"user has requested full context size of {wanted}"
    if flags.ctx_size or flags.kv_unified_per_slot > 0:
        return f"context size set by user to {wanted}"
    if wanted <= low:
        return f"default model context size is {wanted} which is <= the min. context size of {low}"
    return ""


def _shrunk(wanted: int, low: int, step: int, room: int, used: Callable[[int], int]) -> int:
    """Between the least and what is wanted, as much as the room is between what these take."""
    if room <= used(low):
        return low
    tokens = low + (wanted - low) * (room - used(low)) // (used(wanted) - used(low))
    return max(tokens // step * step, low)


def _line(level: str, text: str) -> ContextLine:
    return ContextLine(level, "common_params_fit_impl: ", text)


def _failed() -> ContextLine:
    return ContextLine("W", "common_fit_params: ", f"failed to fit params to free device memory: {UNABLE}")
