"""Completion routes, native and in OpenAI's style (spec §7.9, §7.10)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from starlette.requests import Request
from starlette.responses import Response

from slotview.engine.model.interface import TokenIds
from slotview.engine.slots.queue.task import Failed, Final

from ..answers.native import failure, final_json, only_fields
from ..answers.openai import ChatShape, TextShape
from ..answers.stream import EventStream, StreamFormat, events, native_format, openai_format
from ..bodies.json_text import Json
from ..bodies.params import RequestOptions, read_params
from ..bodies.prompts import read_prompts
from ..bodies.request import read_members, read_object, state_of
from ..chat.prompt import ChatPrompt, read_chat
from ..http.presence import has_said_all, while_present
from ..replies import json_reply
from ..running import RunningRequest
from ..state import ServerState

__all__ = ["chat_completions", "completions", "input_tokens", "native"]

Prepared = tuple[list[TokenIds], RequestOptions]
Whole = Callable[[Sequence[Final]], object]


def _prepare(body: Json, state: ServerState) -> Prepared:
    """Tokenize and check a completion body; runs in a worker thread."""
    tokenizer = state.model.tokenizer
    prompts = read_prompts(body, tokenizer)
    return prompts, read_params(body, state.flags, state.engine.core.plan.n_slots, tokenizer)


async def native(request: Request) -> Response:
    """POST /completion."""
    state = state_of(request)
    body = await read_object(request)
    prompts, options = await asyncio.to_thread(_prepare, body, state)
    tokenizer = state.model.tokenizer

    def whole(results: Sequence[Final]) -> object:
        shown = [
            only_fields(final_json(result, state.model_name, tokenizer, stream=False), options.response_fields)
            for result in results
        ]
        return shown[0] if len(shown) == 1 else shown

    shown = native_format(options, state.model_name, tokenizer)
    return await _answer(request, prompts, options, whole, shown, done_mark=False)


async def completions(request: Request) -> Response:
    """POST /v1/completions."""
    state = state_of(request)
    body = await read_object(request)
    prompts, options = await asyncio.to_thread(_prepare, body, state)
    shape = TextShape(state.model_name, state.fingerprint, options)
    return await _answer_openai(request, state, prompts, options, shape)


async def chat_completions(request: Request) -> Response:
    """POST /v1/chat/completions."""
    state = state_of(request)
    body = await read_members(request)
    prompt, (prompts, options) = await asyncio.to_thread(_prepare_chat, body, state)
    shape = ChatShape(state.model_name, state.fingerprint, options, reader=prompt.reader, repeats=prompt.repeats)
    return await _answer_openai(request, state, prompts, options, shape)


async def input_tokens(request: Request) -> Response:
    """POST /v1/chat/completions/input_tokens."""
    state = state_of(request)
    body = await read_members(request)
    tokenizer = state.model.tokenizer
    prompt = await asyncio.to_thread(read_chat, body, tokenizer, state.chat_template, state.chat_rules)
    tokens = await asyncio.to_thread(tokenizer.encode, prompt.text)
    return json_reply({"input_tokens": len(tokens), "object": "response.input_tokens"})


def _prepare_chat(body: Json, state: ServerState) -> tuple[ChatPrompt, Prepared]:
    tokenizer = state.model.tokenizer
    prompt = read_chat(body, tokenizer, state.chat_template, state.chat_rules)
    options = read_params({**body, **prompt.fields}, state.flags, state.engine.core.plan.n_slots, tokenizer)
    return prompt, ([tokenizer.encode(prompt.text)], options)


async def _answer_openai(
    request: Request,
    state: ServerState,
    prompts: list[TokenIds],
    options: RequestOptions,
    shape: TextShape | ChatShape,
) -> Response:
    native_shown = native_format(options, state.model_name, state.model.tokenizer)

    def whole(results: Sequence[Final]) -> object:
        answer = shape.whole(results)
        if options.verbose:
            timings = answer.pop("timings")
            first = final_json(results[0], state.model_name, state.model.tokenizer, stream=False)
            answer |= {"__verbose": only_fields(first, options.response_fields), "timings": timings}
        return answer

    shown = openai_format(options, shape, native_shown)
    return await _answer(request, prompts, options, whole, shown, done_mark=True)


async def _answer(
    request: Request,
    prompts: list[TokenIds],
    options: RequestOptions,
    whole: Whole,
    shown: StreamFormat,
    *,
    done_mark: bool,
) -> Response:
    """Run the request; a client that goes away ends its tasks."""
    running = RunningRequest(state_of(request).engine)
    running.post(prompts, options.params)
    if options.params.stream:
        return await _stream(request, running, options, shown, done_mark=done_mark)
    try:
        finals = await while_present(request, _collect(running))
    finally:
        running.close()
    return json_reply(whole(finals))


async def _collect(running: RunningRequest) -> list[Final]:
    """All final results by index; the first error is raised."""
    finals: list[Final] = []
    async for result in running.results():
        if isinstance(result, Failed):
            raise failure(result)
        if isinstance(result, Final):
            finals.append(result)
    return sorted(finals, key=lambda final: final.index)


async def _stream(
    request: Request, running: RunningRequest, options: RequestOptions, shown: StreamFormat, *, done_mark: bool
) -> Response:
    """Wait for the first result: an error is an ordinary answer, anything else begins the stream."""
    try:
        first = await while_present(request, running.next())
    except BaseException:
        running.close()
        raise
    if isinstance(first, Failed):
        raise failure(first)
    body = events(running, first, shown, options, done_mark=done_mark)
    return EventStream(running, body, is_cut=has_said_all(request))
