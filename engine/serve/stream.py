"""Server-sent events of a completion (spec §7.9)."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable

from ..model.interface import Tokenizer
from ..slots.task import Failed, Final, Partial, Progress, Result, Started
from .answers import failure, final_json, only_fields, partial_json, progress_json
from .body import write_json
from .errors import error_body
from .openai import ChatShape, TextShape
from .params import RequestOptions
from .params_json import Json
from .running import RunningRequest

__all__ = ["StreamFormat", "events", "native_format", "openai_format"]

StreamFormat = Callable[[Result], list[Json]]
PING = ":\n\n"


def native_format(options: RequestOptions, model: str, tokenizer: Tokenizer) -> StreamFormat:
    """Chunks of the native route."""
    params = options.params
    post_sampling = params.sampling.post_sampling_probs

    def shown(result: Result) -> list[Json]:
        if isinstance(result, Partial):
            return [partial_json(result, timings=params.timings_per_token, post_sampling=post_sampling)]
        if isinstance(result, Progress):
            return [progress_json(result, timings=params.timings_per_token)]
        if isinstance(result, Final):
            return [only_fields(final_json(result, model, tokenizer, stream=True), options.response_fields)]
        return []

    return shown


def openai_format(options: RequestOptions, shape: TextShape | ChatShape, native: StreamFormat) -> StreamFormat:
    """Chunks in OpenAI's shape; ``verbose`` adds the native object."""
    timings = options.params.timings_per_token
    is_chat = isinstance(shape, ChatShape)

    def shown(result: Result) -> list[Json]:
        if isinstance(result, Partial):
            group = shape.partial(result, timings=timings)
        elif isinstance(result, Progress):
            group = shape.progress(result, timings=timings)
        elif isinstance(result, Final):
            group = shape.last(result)
        else:
            return []
        if options.verbose and group and (not is_chat or isinstance(result, Final)):
            _add_verbose(group[0], native(result)[0], last=is_chat)
        return group

    return shown


def _add_verbose(chunk: Json, native: Json, *, last: bool) -> None:
    """Add the native object, before the timings unless it comes last."""
    timings = None if last else chunk.pop("timings", None)
    chunk["__verbose"] = native
    if timings is not None:
        chunk["timings"] = timings


async def events(
    request: RunningRequest,
    first: Result,
    shown: StreamFormat,
    options: RequestOptions,
    *,
    done_mark: bool,
    clock: Callable[[], float] = time.monotonic,
) -> AsyncIterator[str]:
    """The event stream after its first result, pings included; ends the request whatever happens."""
    result: Result | None = first
    last_event = clock()
    is_first = True
    started: set[int] = set()
    failed = False
    try:
        while result is not None or not request.is_over:
            if result is None:
                try:
                    result = await request.next(1.0)
                except TimeoutError:
                    now = clock()
                    if 0 < options.sse_ping_interval < now - last_event:
                        last_event = now
                        yield PING
                    continue
            if isinstance(result, Failed):
                failed = True
                yield _event(error_body(failure(result)))
                break
            text = "".join(_event(chunk) for chunk in shown(result))
            if isinstance(result, Started):
                if not is_first and result.task not in started and _shows_start(result, options):
                    text = "data: null\n\n"
                started.add(result.task)  # a retune starts it again, of which a client need not hear
            if text:
                yield text
            last_event = clock()
            is_first, result = False, None
        if done_mark and not failed:
            yield "data: [DONE]\n\n"
    finally:
        request.close()


def _shows_start(result: Started, options: RequestOptions) -> bool:
    """The start of another prompt of the request is an event without content; that of a child is none."""
    return not options.params.return_progress and result.index % options.params.n_cmpl == 0


def _event(value: Json) -> str:
    return f"data: {write_json(value)}\n\n"
