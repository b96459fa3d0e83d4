"""What the scheduler is asked to do and what it answers: plain frozen records, no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import ClassVar

from msgspec import Struct, field

from slotview.engine.model.interface import TokenIds
from slotview.engine.model.sampling_params import SamplingParams

__all__ = [
    "ActionDone",
    "ActionTask",
    "Failed",
    "Final",
    "Partial",
    "Progress",
    "Requeued",
    "Result",
    "Started",
    "StopType",
    "TaskParams",
    "Timings",
    "TokenProbs",
]


class StopType(StrEnum):
    """Why a generation ended (spec §6.7)."""

    NONE = "none"
    EOS = "eos"
    LIMIT = "limit"
    WORD = "word"


class TaskParams(Struct, frozen=True):
    """Parameters of a completion, already checked (spec §8.3). ``n_predict`` None = the server's ``-n``.

    ``requested_n_predict`` is what /slots shows. ``preserved`` are special tokens whose text an answer
    carries. ``extra`` holds response-only fields that the engine passes through.
    """

    n_predict: int | None = None
    requested_n_predict: int = -1
    cache_prompt: bool = True
    n_keep: int = 0
    n_discard: int = 0
    n_indent: int = 0
    t_max_predict_ms: int = -1
    n_cmpl: int = 1
    n_cache_reuse: int = 0
    id_slot: int = -1
    stream: bool = False
    return_tokens: bool = False
    return_progress: bool = False
    timings_per_token: bool = False
    stop: tuple[str, ...] = ()
    preserved: frozenset[int] = frozenset()
    sampling: SamplingParams = field(default_factory=SamplingParams)
    extra: Mapping[str, object] = field(default_factory=dict)


class ActionTask(Struct, frozen=True):
    """Save, restore or erase a slot. A file is written or read when its turn comes, not when it was asked for.

    Without a ``path`` the content goes the way of ``data``: in for a restore, out for a save.
    """

    action: str
    id_slot: int
    path: Path | None = None
    data: bytes | None = None


class Timings(Struct, frozen=True):
    """Raw times of a task in µs and counts (spec §7.11); the HTTP face makes the rates.

    ``n_untimed``: generated tokens whose time is that of the prompt, the first and one more for each retune.
    """

    cache_n: int = 0
    prompt_n: int = 0
    prompt_us: int = 0
    predicted_n: int = 0
    predicted_us: int = 0
    n_untimed: int = 1


class TokenProbs(Struct, frozen=True):
    """Probabilities of one token: the chosen one and the top list as (token, bytes, probability or log-probability)."""

    token: int
    text: bytes
    value: float
    top: tuple[tuple[int, bytes, float], ...] = ()


class Result(Struct, frozen=True):
    """Something a task says. ``index`` is the output's number within its request."""

    is_last: ClassVar[bool] = False

    task: int
    index: int


class Started(Result, frozen=True):
    """The slot looks at the prompt now (a stream's headers go out)."""

    slot: int
    n_prompt: int
    n_cached: int


class Requeued(Result, frozen=True):
    """The task lost its slot to other flags and waits for one again; it goes on where it was."""


class Progress(Result, frozen=True):
    """A piece of the prompt is done (``return_progress``)."""

    total: int
    cache: int
    processed: int
    time_us: int
    timings: Timings


class Partial(Result, frozen=True):
    """One sampled token; ``text`` may be empty (held back) or hold earlier tokens' text."""

    token: int
    text: str
    n_decoded: int
    n_prompt: int
    timings: Timings
    probs: TokenProbs | None = None
    completes_stop: bool = False


class Final(Result, frozen=True):
    """The end of a completion (spec §7.9). ``text`` is the whole answer, ``tail`` what no `Partial` has carried.

    ``n_unfinished``: how many of their last characters stand for the bytes of one that is not finished.
    """

    is_last: ClassVar[bool] = True

    slot: int
    text: str
    tail: str
    tokens: tuple[int, ...]
    n_prompt: int
    n_decoded: int
    n_cached_end: int  # tokens left in the KV ("tokens_cached")
    truncated: bool
    has_new_line: bool
    stop_type: StopType
    stopping_word: str
    timings: Timings
    prompt: TokenIds
    params: TaskParams
    probs: tuple[TokenProbs, ...] = ()
    n_unfinished: int = 0


class Failed(Result, frozen=True):
    """The end of a task by an error or a cancel: status, type and message of spec §7.1."""

    is_last: ClassVar[bool] = True

    status: int
    kind: str
    message: str
    n_prompt: int | None = None  # with exceed_context_size_error
    n_ctx: int | None = None
    cancelled: bool = False


class ActionDone(Result, frozen=True):
    """The end of a slot action: the id as requested, tokens concerned, bytes, and a save's content."""

    is_last: ClassVar[bool] = True

    action: str
    id_slot: int
    n_tokens: int
    n_bytes: int
    time_us: int
    data: bytes | None = None
