"""Results made from a slot (spec §7.9, §7.11)."""

from __future__ import annotations

from ..decode.stop import incomplete_bytes
from ..queue.job import CompletionJob
from ..queue.task import Failed, Final, Partial, Progress, Started, StopType, Timings, TokenProbs
from ..slot import Slot

__all__ = ["cancelled", "final", "partial", "progress", "started"]

CANCEL_STATUS = 499
NO_TIMINGS = Timings()
RUNNING = StopType.NONE


def _job(slot: Slot) -> CompletionJob:
    assert slot.job is not None
    return slot.job


def started(slot: Slot) -> Started:
    """The slot looks at the prompt now."""
    job = _job(slot)
    return Started(job.task, job.index, slot.id, job.n_prompt, slot.n_prompt_cached)


def progress(slot: Slot) -> Progress:
    """How far the prompt is; ``processed`` counts cached tokens too."""
    job = _job(slot)
    total, held, spent = len(job.prompt), slot.n_tokens, slot.prompt_us
    return Progress(job.task, job.index, total, slot.n_prompt_cached, held, spent, slot.timings())


def partial(slot: Slot, job: CompletionJob, token: int, chunk: bytes, probs: TokenProbs | None) -> Partial:
    """One token of a stream. Timings only where asked for, or where a stop word is complete."""
    ends = slot.stop is not RUNNING
    timings = slot.timings() if ends or job.params.timings_per_token else NO_TIMINGS
    text = chunk.decode("utf-8", "replace")
    return Partial(job.task, job.index, token, text, slot.n_gen, job.n_prompt, timings, probs, ends)


def final(slot: Slot, n_dropped_probs: int = 0) -> Final:
    """The end of a completion; ``n_dropped_probs`` entries belong to a stop word (spec §7.9)."""
    job = _job(slot)
    text = bytes(slot.text)
    unsent = text[slot.n_sent :] if job.params.stream else text
    return Final(
        task=job.task,
        index=job.index,
        slot=slot.id,
        text=text.decode("utf-8", "replace"),
        tail=unsent.decode("utf-8", "replace"),
        tokens=tuple(slot.generated),
        n_prompt=job.n_prompt,
        n_decoded=slot.n_gen,
        n_cached_end=slot.n_tokens,
        truncated=slot.truncated,
        has_new_line=slot.has_new_line,
        stop_type=slot.stop,
        stopping_word=slot.stopping_word,
        timings=slot.timings(),
        prompt=job.prompt if job.resume is None else job.resume.prompt,
        params=job.params,
        probs=tuple(slot.probs[: max(0, len(slot.probs) - n_dropped_probs)]),
        n_unfinished=len(_unfinished(text).decode("utf-8", "replace")),
    )


def _unfinished(text: bytes) -> bytes:
    """The bytes at a text's end that begin a character; none where those after the first cannot go on with it."""
    last = text[len(text) - incomplete_bytes(text) :]
    return last if all(byte & 0xC0 == 0x80 for byte in last[1:]) else b""


def cancelled(task: int, index: int) -> Failed:
    """A task that was given up."""
    return Failed(task, index, CANCEL_STATUS, "cancelled", "the request was cancelled", cancelled=True)
