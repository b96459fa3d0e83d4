"""What a request had reached when the engine was retuned under it."""

from __future__ import annotations

from msgspec import Struct

from ..model.interface import TokenIds
from ..model.sampling import Sampler
from .queue.task import Timings, TokenProbs
from .slot import Slot

__all__ = ["Resume"]


class Resume(Struct, frozen=True, eq=False):
    """Sampler state, text and counters of a run to be continued, so that no token comes twice."""

    prompt: TokenIds
    n_prompt: int
    sampler: Sampler | None
    n_gen: int
    text: bytes
    n_sent: int
    generated: tuple[int, ...]
    probs: tuple[TokenProbs, ...]
    has_new_line: bool
    last_nl_pos: int
    truncated: bool
    n_prompt_cached: int
    earlier: Timings
    started_at: int
    taken_at: int

    @classmethod
    def of(cls, slot: Slot, now: int) -> Resume:
        """Take it from a slot whose prompt was begun."""
        job = slot.job
        assert job is not None
        return cls(
            prompt=job.prompt if job.resume is None else job.resume.prompt,
            n_prompt=job.n_prompt,
            sampler=slot.sampler,
            n_gen=slot.n_gen,
            text=bytes(slot.text),
            n_sent=slot.n_sent,
            generated=tuple(slot.generated),
            probs=tuple(slot.probs),
            has_new_line=slot.has_new_line,
            last_nl_pos=slot.last_nl_pos,
            truncated=slot.truncated,
            n_prompt_cached=slot.n_prompt_cached,
            earlier=slot.timings(),
            started_at=slot.started_at,
            taken_at=now,
        )

    def put(self, slot: Slot) -> None:
        """Give it to the slot that continues the run, which has just started; the time between counts as none of it."""
        pause = slot.started_at - self.taken_at
        slot.n_gen = self.n_gen
        slot.text = bytearray(self.text)
        slot.n_sent = self.n_sent
        slot.generated = list(self.generated)
        slot.probs = list(self.probs)
        slot.has_new_line = self.has_new_line
        slot.last_nl_pos = self.last_nl_pos
        slot.truncated = self.truncated
        slot.n_prompt_cached = self.n_prompt_cached
        slot.earlier = self.earlier
        slot.started_at = self.started_at + pause
