"""One slot: the tokens it holds, the task it runs, and that task's counters (spec §4)."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from ..model.interface import TokenIds
from ..model.sampling import Sampler
from .kv.sequence import CellSequence
from .queue.job import CompletionJob
from .queue.task import StopType, TaskParams, Timings, TokenProbs

__all__ = ["DONE_PROMPT", "GENERATING", "IN_PROMPT", "Phase", "Slot"]


class Phase(IntEnum):
    """The states of spec §4.1."""

    IDLE = 0
    WAIT_OTHER = 1
    STARTED = 2
    PROCESSING_PROMPT = 3
    DONE_PROMPT = 4
    GENERATING = 5


DONE_PROMPT, GENERATING = Phase.DONE_PROMPT, Phase.GENERATING
"""For loops over all slots: to read a member off its class takes 0.15 µs."""
IN_PROMPT = (Phase.STARTED, Phase.PROCESSING_PROMPT)
_NOTHING = Timings(n_untimed=0)


class Slot:
    """``tokens[:n_tokens]`` is what its KV sequence holds (mirrored once a batch is decoded); it survives `reset`.

    ``text``: the answer's bytes, of which the first ``n_sent`` have been released. ``generated``: the answer's tokens,
    where the request wants them. ``n_gen``: tokens sampled, ``sampled`` the last of them. ``n_predict_max``: tokens the
    task may generate, −1 = no limit. Times (``t_*``, ``started_at``) are µs of the driver's clock. ``earlier``: the
    task's `timings` up to a retune; ``n_prompt_processed`` and ``t_*`` tell of the time since. ``last_*`` describe the
    task that ran before, None while there was none; ``finished_text`` is the answer of the last one that ended well.
    """

    __slots__ = (
        "earlier",
        "finished_text",
        "generated",
        "has_new_line",
        "has_next_token",
        "id",
        "job",
        "last_nl_pos",
        "last_params",
        "last_prompt",
        "last_task",
        "last_text",
        "n_ctx",
        "n_gen",
        "n_gen_printed",
        "n_predict_max",
        "n_prompt_cached",
        "n_prompt_processed",
        "n_sent",
        "n_tokens",
        "phase",
        "probs",
        "sampled",
        "sampler",
        "sequence",
        "started_at",
        "stop",
        "stopping_word",
        "t_gen_last",
        "t_last_used",
        "t_printed",
        "t_prompt_last",
        "t_start",
        "text",
        "tokens",
        "truncated",
    )

    def __init__(self, number: int, n_ctx: int, sequence: CellSequence) -> None:
        self.id = number
        self.n_ctx = n_ctx
        self.sequence = sequence
        self.tokens: TokenIds = np.empty(len(sequence.cells), np.int32)
        self.n_tokens = 0
        self.phase = Phase.IDLE
        self.job: CompletionJob | None = None
        self.sampler: Sampler | None = None
        self.last_task: int | None = None
        self.last_params: TaskParams | None = None
        self.last_prompt: TokenIds | None = None
        self.last_text = b""
        self.finished_text = b""
        self.t_last_used = -1
        self.has_next_token = True
        self.sampled = 0
        self.reset()

    def reset(self) -> None:
        """Forget the task's counters and text (the left column of spec §4.4)."""
        self.n_predict_max = -1
        self.text = bytearray()
        self.n_sent = 0
        self.generated: list[int] = []
        self.probs: list[TokenProbs] = []
        self.has_new_line = False
        self.last_nl_pos = 0
        self.truncated = False
        self.stop = StopType.NONE
        self.stopping_word = ""
        self.n_prompt_cached = 0
        self.n_prompt_processed = 0
        self.n_gen = 0
        self.earlier = _NOTHING
        self.t_start = 0
        self.t_prompt_last = 0
        self.t_gen_last = 0
        self.t_printed = 0
        self.n_gen_printed = 0
        self.started_at = 0

    @property
    def is_processing(self) -> bool:
        """Whether a task holds the slot."""
        return self.phase != Phase.IDLE

    @property
    def held(self) -> TokenIds:
        """The tokens in its KV. A view."""
        return self.tokens[: self.n_tokens]

    @property
    def id_task(self) -> int | None:
        """The running task, or the last one; None before the first."""
        return self.last_task if self.job is None else self.job.task

    @property
    def params(self) -> TaskParams | None:
        """Parameters of `id_task`."""
        return self.last_params if self.job is None else self.job.params

    @property
    def prompt(self) -> TokenIds | None:
        """Prompt of `id_task`."""
        return self.last_prompt if self.job is None else self.job.prompt

    @property
    def generated_text(self) -> bytes:
        """Text of `id_task` so far, or the last run's."""
        return self.last_text if self.job is None else bytes(self.text)

    @property
    def n_remain(self) -> int:
        """Tokens the task may still sample; −1 = no limit, or idle (spec §7.3)."""
        return -1 if self.n_predict_max == -1 else self.n_predict_max - self.n_gen

    @property
    def prompt_us(self) -> int:
        """Time of the prompt so far (spec §7.11)."""
        return self.earlier.prompt_us + self.t_prompt_last - self.t_start

    @property
    def gen_us(self) -> int:
        """Time of the generation so far (spec §7.11)."""
        earlier = self.earlier
        if self.n_gen == earlier.predicted_n:
            return earlier.predicted_us
        return max(1, earlier.predicted_us + self.t_gen_last - self.t_prompt_last)

    @property
    def n_untimed(self) -> int:
        """Tokens of the answer that came with a prompt's last batch, so that `gen_us` does not hold their time."""
        return self.earlier.n_untimed + (self.n_gen > self.earlier.predicted_n)

    def waits_for(self, parent: int) -> bool:
        """Whether it runs a child that waits for this task's prompt."""
        return self.phase == Phase.WAIT_OTHER and self.follows(parent)

    def follows(self, parent: int) -> bool:
        """Whether it runs a child of this task."""
        return self.job is not None and self.job.parent == parent

    def timings(self) -> Timings:
        """The task's times and counts."""
        processed = self.earlier.prompt_n + self.n_prompt_processed
        return Timings(self.n_prompt_cached, processed, self.prompt_us, self.n_gen, self.gen_us, self.n_untimed)
