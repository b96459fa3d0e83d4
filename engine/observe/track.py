"""One task in one slot, followed from answer to answer."""

from __future__ import annotations

from msgspec import Struct, field

from ..snapshot import SlotState, SlotView
from .observation import SlotRate
from .rates import GenerationSpeed, PromptSpeed, exact_generation, exact_prompt
from .stalls import StallWatch

__all__ = ["Growth", "TaskTrack"]

STEP = 8  # tokens: more than one step adds to a slot, but for guesses


class Growth(Struct):
    """What one answer added to a task: tokens decoded, prompt tokens processed, and when work on the latter began."""

    decoded: int = 0
    processed: int = 0
    processed_since: float | None = None


class TaskTrack(Struct):
    """What is known about the task in a slot; counts are those of the latest answer that contained them, fallen or not.

    ``begun``: the task was seen to begin, so that all its tokens are new; ``doubt``: seconds by which it may have begun
    before. ``beside``: the fewest tokens that were held beside those decoded. ``n_shifts``: answers before which the
    context was shifted.
    """

    slot: int
    task: int | None
    first_at: float
    begun: bool
    n_decoded: int | None = None
    n_processed: int | None = None
    n_tokens: int | None = None
    progress_at: float = 0.0
    sampled: bool = False
    unlimited: bool = False
    started_at: float | None = None
    doubt: float = 0.0
    beside: int | None = None
    n_shifts: int = 0
    generation: GenerationSpeed = field(default_factory=GenerationSpeed)
    prompt: PromptSpeed = field(default_factory=PromptSpeed)
    stall: StallWatch = field(default_factory=StallWatch)

    def fits(self, slot: SlotView) -> bool:
        """Whether a busy slot still runs this task. A missing id or count is no evidence against it."""
        if slot.task is not None and self.task is not None:
            return slot.task == self.task
        return slot.n_decoded is None or self.n_decoded is None or slot.n_decoded >= self.n_decoded

    def add(self, slot: SlotView, at: float, elapsed: float, interval: float) -> Growth:
        """Take in one answer and return what it added."""
        growth = Growth()
        if self.task is None:
            self.task = slot.task
        self._prompt(slot, at, elapsed, growth)
        self._tokens(slot)
        self._answer(slot, at, growth)
        self.unlimited = slot.unlimited
        self.sampled = self.sampled or slot.state is SlotState.GENERATING
        self.stall.add(slot, elapsed, interval)
        return growth

    def _prompt(self, slot: SlotView, at: float, elapsed: float, growth: Growth) -> None:
        processed = slot.n_prompt_processed
        if processed is None:
            return
        known = self.n_processed if self.n_processed is not None else 0 if self.begun else processed
        if processed > known:
            growth.processed = processed - known
            growth.processed_since = self._since(at, elapsed)
            self.progress_at = at
        self.prompt.add(at, processed)
        self.n_processed = processed

    def _since(self, at: float, elapsed: float) -> float | None:
        """When work on this answer's prompt tokens began; None if it was under way at the first look already."""
        since = self.prompt.since
        return at - elapsed if since == at else since

    def _answer(self, slot: SlotView, at: float, growth: Growth) -> None:
        decoded = slot.n_decoded
        if decoded is None:
            return
        known = self.n_decoded if self.n_decoded is not None else 0 if self.begun else decoded
        if decoded > known:
            growth.decoded = decoded - known
            self.progress_at = at
        self.generation.add(at, decoded)
        self.n_decoded = decoded

    def _tokens(self, slot: SlotView) -> None:
        """Count context shifts: a slot that was full holds fewer tokens beside its answer (spec §6.2).

        Fewer tokens alone are none: those that a draft model guessed are held until they are checked.
        """
        if slot.n_tokens is None:
            return
        self.n_tokens = slot.n_tokens
        if not slot.n_decoded:
            return
        beside = slot.n_tokens - slot.n_decoded
        least = beside if self.beside is None else self.beside
        if slot.n_ctx is not None and least + slot.n_decoded >= slot.n_ctx - STEP and beside < least - STEP:
            self.n_shifts += 1
        self.beside = min(least, beside)

    def seconds(self, at: float, doubt: float = 0.0) -> float | None:
        """How long it had had the slot by then, give or take ``doubt``; None where that is known to no fifth."""
        if self.started_at is None or self.doubt + doubt > 0.2 * (at - self.started_at):
            return None
        return at - self.started_at

    def rate(self, slot: SlotView, stall_after: float) -> SlotRate:
        """The task's speeds, from the engine's own times if known, else from the times of the answers."""
        prompt = exact_prompt(slot.n_prompt_processed, slot.prompt_seconds)
        generation = exact_generation(slot.n_decoded, slot.n_untimed, slot.generation_seconds)
        return SlotRate(
            prompt=self.prompt.value if prompt is None else prompt,
            generation=self.generation.value if generation is None else generation,
            stalled_for=self.stall.stalled_for(stall_after),
        )
