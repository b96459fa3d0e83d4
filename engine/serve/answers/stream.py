"""Server-sent events of a completion (spec §7.9)."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from slotview.engine.model.interface import Tokenizer
from slotview.engine.slots.queue.task import Failed, Final, Partial, Progress, Result, Started

from ..bodies.json_text import Json, write_json
from ..bodies.params import RequestOptions
from ..errors import error_body
from ..http.presence import ClientGoneError
from ..running import RunningRequest
from .native import failure, final_json, only_fields, partial_json, progress_json
from .openai import ChatShape, TextShape

__all__ = ["EventStream", "StreamFormat", "events", "native_format", "openai_format"]

StreamFormat = Callable[[Result], list[Json]]
"""The objects that a result becomes in a stream, each an event of its own."""
PING = ":\n\n"  # a comment, which clients pass over
HEADERS = {"Content-Type": "text/event-stream", "X-Accel-Buffering": "no", "Connection": "close"}


class EventStream(StreamingResponse):
    """The answer that sends ``body``; at its end, however it comes, it ends ``request``, even if nothing was sent.

    ``is_cut``: the head alone is sent, since the client has closed its side, which ends every stream.
    """

    def __init__(self, request: RunningRequest, body: AsyncIterator[str], *, is_cut: bool = False) -> None:
        super().__init__(body, headers=HEADERS)
        self._request = request
        self._is_cut = is_cut

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, as ASGI has it. Raises `ClientGoneError` where it is cut, which closes the connection."""
        try:
            if self._is_cut:
                await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
                raise ClientGoneError
            await super().__call__(scope, receive, send)
        finally:
            self._request.close()


def native_format(options: RequestOptions, model: str, tokenizer: Tokenizer) -> StreamFormat:
    """What each result of the native route becomes in a stream."""
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
    """The same in OpenAI's shape; ``verbose`` adds the native object."""
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
    """Add the native object, before timings and progress unless it comes last."""
    behind: Json = {} if last else {name: chunk.pop(name) for name in ("timings", "prompt_progress") if name in chunk}
    chunk |= {"__verbose": native, **behind}


async def events(
    request: RunningRequest,
    first: Result,
    shown: StreamFormat,
    options: RequestOptions,
    *,
    done_mark: bool,
    clock: Callable[[], float] = time.monotonic,
) -> AsyncIterator[str]:
    """The event stream of a request that has given its ``first`` result."""
    begun = {first.task} if isinstance(first, Started) else set[int]()
    async with aclosing(_results(request, first, options.sse_ping_interval, clock)) as results:
        async for result in results:
            if result is None:
                yield PING
            elif isinstance(result, Failed):
                yield _event(error_body(failure(result)))
                return
            elif _begins_another_prompt(result, options, begun):
                yield "data: null\n\n"
            elif text := "".join(_event(chunk) for chunk in shown(result)):
                yield text
    if done_mark:
        yield "data: [DONE]\n\n"


async def _results(
    request: RunningRequest, first: Result, ping_interval: int, clock: Callable[[], float]
) -> AsyncGenerator[Result | None]:
    """The first result and all that follow. None = a ping is due: nothing came for more than ``ping_interval`` seconds.

    ``ping_interval`` 0 and below = no pings.
    """
    yield first
    last_sign = clock()
    while not request.is_over:
        result: Result | None
        try:
            result = await request.next(1.0)
        except TimeoutError:
            if not 0 < ping_interval < clock() - last_sign:
                continue
            result = None
        yield result
        last_sign = clock()


def _begins_another_prompt(result: Result, options: RequestOptions, begun: set[int]) -> bool:
    """Whether another prompt of the request is looked at now, of which a stream tells by an event without content.

    ``begun``: tasks that have started, to be added to: a retune starts tasks again, of which a client need not hear.
    Nor does it hear of children, whose prompt is their parent's.
    """
    if not isinstance(result, Started) or result.task in begun:
        return False
    begun.add(result.task)
    return not options.params.return_progress and result.index % options.params.n_cmpl == 0


def _event(value: Json) -> str:
    return f"data: {write_json(value)}\n\n"
