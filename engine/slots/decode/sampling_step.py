"""After a decode: book it, wake children, sample, and stop what is done (spec §6.6, §6.7)."""

from __future__ import annotations

from collections.abc import Container, Sequence
from itertools import pairwise

import numpy as np

from slotview.engine.events import Notice
from slotview.engine.model.interface import Floats
from slotview.engine.model.sampling import Sampler, probabilities, sample_rows

from ..prompt.prefill import PromptFeeder
from ..queue.job import CompletionJob
from ..queue.task import TokenProbs
from ..report import answer
from ..report.timing_lines import generation_line
from ..slot import DONE_PROMPT, GENERATING, Phase, Slot
from ..state import CoreState
from .batch import Piece
from .decoding import BROKEN
from .ending import Endings
from .stop import add_text, decide

__all__ = ["SamplingStep"]

NO_NUMBERS = "the model's scores are no numbers; its weights, or what the slot was restored from, may be damaged"
Row = tuple[Slot, int]  # a slot and the row of its logits
_SHOWS_PROGRESS = (Phase.PROCESSING_PROMPT, DONE_PROMPT)


class SamplingStep:
    """Settles one decoded piece."""

    def __init__(self, state: CoreState, endings: Endings, prompts: PromptFeeder) -> None:
        self._state = state
        self._endings = endings
        self._prompts = prompts
        self._eog = state.tokenizer.eog
        self._pieces: dict[int, bytes] = {}

    def run(self, piece: Piece, logits: Floats) -> None:
        """Do everything that follows a successful decode. Results go out in slot order, also those about progress."""
        slots = [slot for slot, _, _, wants_logits, _ in piece.parts if wants_logits]
        self._book(piece, bool(slots))
        rows = self._with_children(self._with_scores(slots, logits))
        tokens = self._sample(rows, logits)
        waiting = [slot for slot in self._state.slots if self._wants_progress(slot)]
        if not waiting:
            for (slot, row), token in zip(rows, tokens, strict=True):
                self._settle(slot, token, logits, row)
            return
        sampled = {slot.id: (row, token) for (slot, row), token in zip(rows, tokens, strict=True)}
        speakers = {slot.id: slot for slot in (*waiting, *(slot for slot, _ in rows))}
        for number in sorted(speakers):
            slot = speakers[number]
            if slot in waiting:
                self._state.emit(answer.progress(slot))
            if number in sampled:
                self._settle(slot, sampled[number][1], logits, sampled[number][0])

    def _with_scores(self, slots: Sequence[Slot], logits: Floats) -> list[Row]:
        """Each slot and its row. A slot whose scores are no numbers is emptied, and its request alone ends."""
        rows = list(zip(slots, range(len(slots)), strict=True))
        if np.isfinite(logits.max(initial=0)):
            return rows
        sound = np.isfinite(logits.max(axis=1))
        for slot in (slot for slot, row in rows if not sound[row]):
            text = f"slot {slot.id}: {NO_NUMBERS}"
            self._state.tell(Notice(self._state.now / 1e6, text, "error"))
            self._state.log.slot("E", "decode", slot, NO_NUMBERS)
            self._endings.fail(slot, BROKEN)
            self._state.clear(slot)
        return [(slot, row) for slot, row in rows if sound[row]]

    @staticmethod
    def _wants_progress(slot: Slot) -> bool:
        if slot.phase not in _SHOWS_PROGRESS or slot.job is None:
            return False
        return slot.job.params.stream and slot.job.params.return_progress

    def _book(self, piece: Piece, has_logits: bool) -> None:
        """Metrics and prompt counters of the piece."""
        state, metrics = self._state, self._state.metrics
        metrics.n_decode += 1
        metrics.n_busy += piece.n_busy
        metrics.n_tokens_max = max(metrics.n_tokens_max, *(slot.n_tokens for slot in state.slots))
        if piece.n_prompt_tokens:
            metrics.queue_prompt(piece.n_prompt_tokens)
            for slot, _, n, _, is_prompt in piece.parts:
                if is_prompt:
                    slot.n_prompt_processed += n
                    slot.t_prompt_last = state.now
        if has_logits:
            metrics.book_prompt(state.now)

    def _with_children(self, rows: list[Row]) -> Sequence[Row]:
        """Add the children of parents that are there, with their parent's logits. In slot order."""
        for parent in self._state.slots:
            if parent.phase != DONE_PROMPT or parent.job is None or not parent.job.children:
                continue
            self._wake_children(parent, parent.job)
            own = [row for slot, row in rows if slot is parent]
            rows += [(child, row) for row in own for child in self._state.slots if child.follows(parent.job.task)]
        if any(a[0].id > b[0].id for a, b in pairwise(rows)):
            rows.sort(key=lambda pair: pair[0].id)
        return rows

    def _wake_children(self, parent: Slot, job: CompletionJob) -> None:
        """Let children share what their parent holds by now.

        That comes after the first decode call of a batch with the prompt's end, which a full pool may have cut before.
        """
        for child in self._state.slots:
            if child.waits_for(job.task):
                self._activate(parent, child)

    def _activate(self, parent: Slot, child: Slot) -> None:
        """Let a child go on from where its parent's prompt ends."""
        self._state.log.slot("T", "decode", parent, f" - copying state to child {child.id}")
        self._state.cache.copy(parent.id, child.id)
        child.sequence.skip_to(parent.n_tokens)
        child.tokens[: parent.n_tokens] = parent.held
        child.n_tokens = parent.n_tokens
        child.n_prompt_cached = parent.n_prompt_cached
        child.n_prompt_processed = parent.n_prompt_processed
        child.t_start, child.t_prompt_last = parent.t_start, parent.t_prompt_last
        child.phase = DONE_PROMPT
        assert child.job is not None
        self._state.emit(answer.started(child))
        self._prompts.prime(child, child.job)

    @staticmethod
    def _sample(rows: Sequence[Row], logits: Floats) -> Sequence[int]:
        """One token for each row, remembered by its slot's sampler."""
        if not rows:
            return ()
        samplers: list[Sampler] = []
        for slot, _ in rows:
            assert slot.sampler is not None
            samplers.append(slot.sampler)
        picked = [row for _, row in rows]
        same = len(picked) == len(logits) and picked == list(range(len(picked)))
        tokens = sample_rows(logits if same else logits[picked], samplers)
        for sampler, token in zip(samplers, tokens, strict=True):
            sampler.accept(token)
        return tokens

    def _settle(self, slot: Slot, token: int, logits: Floats, row: int) -> None:
        """One sampled token of one slot."""
        state, job = self._state, slot.job
        assert job is not None
        slot.phase = GENERATING
        slot.n_gen += 1
        if slot.n_gen == slot.earlier.predicted_n + 1:
            slot.t_prompt_last = slot.t_printed = state.now
            slot.n_gen_printed = slot.earlier.predicted_n
        slot.t_gen_last = state.now
        if job.params.return_tokens:
            slot.generated.append(token)
        piece, is_eog = self._piece(token, job.params.preserved), token in self._eog
        chunk = add_text(slot, token, piece, is_eog)
        if chunk is not None:
            probs = self._probs(slot, token, chunk, logits, row) if job.params.sampling.n_probs > 0 else None
            if job.params.stream:
                state.emit(answer.partial(slot, job, token, chunk, probs))
        decide(slot, piece if chunk is None else chunk, is_eog, state.options.context_shift)
        if not slot.has_next_token:
            self._endings.finish(slot)
        elif state.log.info and (line := generation_line(slot, state.now)) is not None:
            state.log.slot("I", "print_timings_tg", slot, line)

    def _piece(self, token: int, preserved: Container[int] = ()) -> bytes:
        """A token's text: none for a special one, unless the request or the command line wants it."""
        if token in preserved:
            return self._state.tokenizer.piece(token, special=True)
        piece = self._pieces.get(token)
        if piece is None:
            piece = self._pieces[token] = self._state.tokenizer.piece(token, special=self._state.options.special)
        return piece

    def _probs(self, slot: Slot, token: int, chunk: bytes, logits: Floats, row: int) -> TokenProbs:
        """Probabilities beside a token, whose text is what was released with it (spec §7.9)."""
        assert slot.sampler is not None
        value, best = probabilities(logits[row], slot.sampler, token)
        probs = TokenProbs(token, chunk, value, tuple((other, self._piece(other), p) for other, p in best))
        slot.probs.append(probs)
        return probs
