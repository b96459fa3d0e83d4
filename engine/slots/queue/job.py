"""What stands in the queues: completions, slot actions and cancels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from slotview.engine.model.interface import TokenIds

from .task import ActionTask, TaskParams

if TYPE_CHECKING:
    from ..resume import Resume

__all__ = ["ActionJob", "CancelJob", "CompletionJob", "Job", "Request"]


class Request(Struct, eq=False):
    """The tasks of all outputs of one request; an error of one gives the others up, once."""

    tasks: tuple[int, ...]
    n_prompts: int
    is_given_up: bool = False


class CompletionJob(Struct, eq=False):
    """One output of a request: a plain task, a parent with ``children``, or a child (``parent`` is then its task).

    ``resume`` is what was there before a retune.
    """

    task: int
    index: int
    prompt: TokenIds
    params: TaskParams
    posted: int
    request: Request
    parent: int | None = None
    children: list[CompletionJob] = field(default_factory=list)
    resume: Resume | None = None

    @property
    def n_prompt(self) -> int:
        """Tokens of the prompt as the client sent it."""
        return len(self.prompt) if self.resume is None else self.resume.n_prompt

    @property
    def pin(self) -> int:
        """``id_slot`` as requested; −1 = any. A child waits with its parent, and nobody asks for its own."""
        return self.params.id_slot

    def alone(self) -> CompletionJob:
        """A task of a family as one of its own; children cannot be pinned."""
        params = self.params if self.parent is None else replace(self.params, id_slot=-1)
        return replace(self, params=params, parent=None, children=[])

    def fitting(self, n_slots: int) -> list[CompletionJob]:
        """A parent with its children where there are slots for all, otherwise each for itself."""
        return [self] if len(self.children) < n_slots else [job.alone() for job in (self, *self.children)]


class ActionJob(Struct, eq=False):
    """A slot action that waits for its slot."""

    task: int
    action: ActionTask
    posted: int
    pin: int = -1  # actions are woken in turn, whatever slot they are for (spec §5.5)


class CancelJob(Struct, eq=False):
    """End this task wherever it is."""

    task: int
    pin: int = -1


Job = CompletionJob | ActionJob | CancelJob
