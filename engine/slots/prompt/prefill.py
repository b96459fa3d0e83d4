"""Putting a prompt into batches: the first visit, what is reused, and the rest (spec §6.4, §6.5)."""

from __future__ import annotations

from ..decode.batch import Batch
from ..decode.ending import Endings
from ..queue.job import CompletionJob
from ..report import answer
from ..report.timing_lines import prompt_line
from ..slot import Phase, Slot
from ..state import CoreState
from .chunk_reuse import reuse_chunks
from .prefix import common_prefix
from .prefix_dump import prefix_dump

__all__ = ["PromptFeeder"]

TOO_LONG = (400, "exceed_context_size_error")
AGAIN = (
    "forcing full prompt re-processing due to lack of cache data (likely due to SWA or hybrid/recurrent memory, see"
    " https://github.com/ggml-org/llama.cpp/pull/13194#issuecomment-2868343055)"
)


class PromptFeeder:
    """Visits slots whose prompt is not done, while the batch has room."""

    def __init__(self, state: CoreState, endings: Endings) -> None:
        self._state = state
        self._endings = endings

    def feed(self, slot: Slot, batch: Batch) -> None:
        """Add as many of the slot's prompt tokens as fit."""
        job = slot.job
        assert job is not None
        if slot.phase == Phase.STARTED and not self._begin(slot, job):
            return
        state, first = self._state, slot.n_tokens
        if state.log.info and (line := prompt_line(slot)) is not None:
            state.log.slot("I", "print_timings_pp", slot, line)
        if state.log.trace:
            state.log.slot("T", "operator()", slot, f"cached n_tokens = {first}, memory_seq_rm [{first}, end)")
        state.cache.remove(slot.id, first)
        n = min(state.plan.n_batch - batch.n_tokens, len(job.prompt) - first)
        slot.tokens[first : first + n] = job.prompt[first : first + n]
        slot.n_tokens = first + n
        is_last = slot.n_tokens == len(job.prompt)
        batch.add(slot, first, n, is_last, True)
        if is_last:
            slot.phase = Phase.DONE_PROMPT
            self.prime(slot, job)

    def prime(self, slot: Slot, job: CompletionJob) -> None:
        """Let the sampler see the whole prompt; one that goes on after a retune has seen it."""
        if job.resume is None and slot.sampler is not None:
            slot.sampler.prime(job.prompt)
        if self._state.log.trace:
            n = slot.n_tokens
            text = f"init sampler, took 0.00 ms, tokens: text = {n}, total = {n}"
            self._state.log.slot("T", "init_sampler", slot, text)

    def _begin(self, slot: Slot, job: CompletionJob) -> bool:
        """The first visit; False when the task ended at once."""
        state, n = self._state, len(job.prompt)
        slot.phase = Phase.PROCESSING_PROMPT
        slot.t_start = slot.t_prompt_last = state.now
        if state.log.trace:
            text = f"new prompt, n_ctx_slot = {slot.n_ctx}, n_keep = {job.params.n_keep}, task.n_tokens = {n}"
            state.log.slot("T", "operator()", slot, text)
        if n == 0:
            state.log.slot("W", "operator()", slot, "empty prompt - releasing slot")
            self._finish_family(slot, job)
            return False
        if n >= slot.n_ctx:
            size = f"request ({n} tokens) exceeds the available context size ({slot.n_ctx} tokens)"
            self._endings.fail(slot, f"{size}, try increasing it", TOO_LONG, slot.n_ctx)
            return False
        n_past = self._reuse(slot, job) if job.params.cache_prompt else 0
        state.metrics.prompt_cached += n_past
        if job.resume is None:
            slot.n_prompt_cached = n_past
        slot.n_tokens = n_past
        self._announce(slot, job)
        return True

    def _finish_family(self, slot: Slot, job: CompletionJob) -> None:
        """An empty prompt has an empty answer, and so have the children that wait for it."""
        waiting = [child for child in self._state.slots if child.waits_for(job.task)]
        for each in (slot, *waiting):
            each.t_start = each.t_prompt_last = self._state.now
            self._endings.finish(each)

    def _reuse(self, slot: Slot, job: CompletionJob) -> int:
        """How many tokens of the slot's KV serve this prompt; at least one is left to compute."""
        log, n = self._state.log, len(job.prompt)
        n_past = common_prefix(slot.held, job.prompt)
        if job.params.n_cache_reuse > 0:
            n_past = reuse_chunks(slot, job, n_past, self._state.cache, log)
        if self._state.options.slots_debug and n_past > 0:
            for line in prefix_dump(slot, job.prompt, n_past, self._state.options.slots_n_diff, self._state.tokenizer):
                log.slot("W", "operator()", slot, line)
        if n == 1:  # a one-token prompt is processed again (spec §6.5)
            if n_past:
                log.slot("T", "operator()", slot, AGAIN)
            return 0
        if n_past == n:
            need = f"(n_past = {n_past}, task.n_tokens() = {n})"
            log.slot("W", "operator()", slot, f"need to evaluate at least 1 token for each active slot {need}")
            n_past -= 1
            log.slot("W", "operator()", slot, f"n_past was set to {n_past}")
        return n_past

    def _announce(self, slot: Slot, job: CompletionJob) -> None:
        self._state.emit(answer.started(slot))
        if job.params.stream and job.params.return_progress:
            self._state.emit(answer.progress(slot))
