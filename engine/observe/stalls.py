"""Tells a stuck slot from one that has been working for a long time.

A slot is called stuck only if its own task, tokens and counts have not changed over many answers: never because of the
server's counters, which move when a generation ends (spec §7.6), and never because of silence.
"""

from __future__ import annotations

from ..snapshot import SlotView

__all__ = ["PREFILL_AFTER", "STALL_AFTER", "StallWatch", "has_begun"]

STALL_AFTER = 60.0  # seconds
PREFILL_AFTER = 180.0  # while a prompt runs: nothing moves during a batch of 2048 tokens, minutes on a slow machine
PATIENCE = 3.0  # times the longest step of this task so far
MOST_PER_ANSWER = 10.0  # seconds: more than this between two answers proves nothing

_Key = tuple[int | None, int | None, int | None, int | None]


class StallWatch:
    """Watches one task of one slot."""

    __slots__ = ("_key", "_longest", "_still")

    def __init__(self) -> None:
        self._key: _Key | None = None
        self._still = 0.0
        self._longest = 0.0

    def add(self, slot: SlotView, elapsed: float, interval: float) -> None:
        """Note one answer, ``elapsed`` seconds after the one before; ``interval`` is how often one is expected."""
        key = (slot.task, slot.n_tokens, slot.n_prompt_processed, slot.n_decoded)
        if key == self._key:
            self._still += min(elapsed, max(MOST_PER_ANSWER, 3 * interval))
            return
        self._longest = max(self._longest, self._still)
        self._key, self._still = key, 0.0

    def stalled_for(self, after: float) -> float | None:
        """Seconds without progress, ``after`` or more; None as long as that means nothing."""
        if self._key is None or self._key[0] is None or not _shows_progress(self._key):
            return None  # without a task, "busy" may mean something else to a server that only resembles llama-server
        return self._still if self._still >= max(after, PATIENCE * self._longest) else None


def _shows_progress(key: _Key) -> bool:
    """Whether the counts would move; before May 2026 none did before the first token of the answer."""
    _, tokens, processed, decoded = key
    return tokens is not None or processed is not None or bool(decoded)


def has_begun(slot: SlotView) -> bool:
    """Whether the task has done anything yet; if not, it may be waiting its turn beside a working slot (spec §6.3)."""
    return bool(slot.n_prompt_processed or slot.n_decoded)
