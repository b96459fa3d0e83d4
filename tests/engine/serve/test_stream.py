"""Event streams: pings, and what one output's end does to the others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import count
from typing import cast

import pytest
from starlette.types import Message

from slotview.engine.embedded.host import EngineHost, Sink
from slotview.engine.flags import parse_flags
from slotview.engine.model.sampling_params import SamplingParams
from slotview.engine.serve.answers import stream as module
from slotview.engine.serve.bodies.params import read_params
from slotview.engine.serve.running import RunningRequest
from slotview.engine.slots.queue.task import Failed, Requeued, Result, Started, TaskParams
from tests.engine.stub_model import ByteTokenizer

from .face import Face


class Quiet:
    """A request that is silent for a number of looks, then fails."""

    def __init__(self, silent: int) -> None:
        self.silent = silent
        self.closed = False

    @property
    def is_over(self) -> bool:
        return False

    async def next(self, timeout: float | None = None) -> Result:
        self.silent -= 1
        if self.silent >= 0:
            raise TimeoutError
        return Failed(1, 0, 500, "server_error", "it broke")

    def close(self) -> None:
        self.closed = True


class Telling(Quiet):
    """A request that says some things, then fails."""

    def __init__(self, results: list[Result]) -> None:
        super().__init__(0)
        self.results = results

    async def next(self, timeout: float | None = None) -> Result:
        return self.results.pop(0) if self.results else await super().next(timeout)


async def _events(silent: int, interval: int) -> tuple[list[str], Quiet]:
    request = Quiet(silent)
    return await _events_of(request, interval), request


async def _events_of(request: Quiet, interval: int) -> list[str]:
    """Events of a request whose looks are a second apart."""
    options = read_params({"sse_ping_interval": interval}, parse_flags([]), 1, ByteTokenizer())
    made = module.events(
        cast(RunningRequest, request),
        Started(1, 0, 0, 5, 0),
        lambda _: [],
        options,
        done_mark=True,
        clock=count().__next__,
    )
    return [event async for event in made]


async def test_a_silent_stream_is_pinged_when_more_than_the_interval_has_passed() -> None:
    found, _ = await _events(6, 1)
    assert found[:-1] == [":\n\n"] * 3
    assert found[-1] == 'data: {"error":{"code":500,"message":"it broke","type":"server_error"}}\n\n'


async def test_a_stream_whose_client_goes_away_before_it_begins_ends_its_request() -> None:
    request = Quiet(5)

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        pass

    async def body() -> AsyncIterator[str]:
        yield "data: 1"

    await module.EventStream(cast(RunningRequest, request), body())({"type": "http"}, receive, send)
    assert request.closed


async def test_a_stream_that_lags_behind_lets_others_come_between() -> None:
    others = 0

    async def other() -> None:
        nonlocal others
        while True:
            others += 1
            await asyncio.sleep(0)

    class Host:
        def post(self, prompts: object, params: object, sink: Sink) -> list[int]:
            for _ in range(50):
                sink([Started(1, 0, 0, 5, 0)])
            return [1]

    request = RunningRequest(cast(EngineHost, Host()))
    request.post([], TaskParams())
    await asyncio.sleep(0)
    task = asyncio.ensure_future(other())
    for _ in range(50):
        await request.next()
    task.cancel()
    assert others > 40


async def test_a_stream_that_nobody_reads_is_given_up_before_it_fills_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("slotview.engine.serve.running.MOST_BEHIND", 20)
    with Face("-c 16384 -np 1") as face:
        assert face.host
        request = RunningRequest(face.host)
        greedy = SamplingParams(temperature=0)  # which never ends by itself over a stub model
        prompt = face.host.core.model.tokenizer.encode("hello")
        request.post([prompt], TaskParams(n_predict=15000, stream=True, sampling=greedy))
        while not face.is_quiet:
            await asyncio.sleep(0.001)
        assert face.host.core.metrics.n_decode < 5000
        results = [result async for result in request.results()]
        assert len(results) > 20
        last = cast(Failed, results[-1])
        assert (last.status, last.index, last.message) == (500, 0, "the answer was not read for too long")


async def test_a_retune_is_no_event_of_a_stream_but_the_start_of_another_prompt_is() -> None:
    again = [Requeued(1, 0), Started(1, 0, 3, 9, 4), Requeued(1, 0), Started(1, 0, 0, 9, 4)]
    assert len(await _events_of(Telling([*again]), -1)) == 1
    assert (await _events_of(Telling([*again, Started(2, 1, 0, 5, 0), *again]), -1))[:-1] == ["data: null\n\n"]


async def test_no_pings_where_they_are_off() -> None:
    for interval in (0, -1):
        found, _ = await _events(90, interval)
        assert len(found) == 1


def test_text_held_back_at_a_limit_comes_with_the_last_event() -> None:
    with Face() as face:
        body = {"prompt": "hello", "n_predict": 8, "temperature": 0}
        whole = str(face.ask("/completion", body).json["content"])
        events = face.ask("/completion", body | {"stream": True, "stop": [whole + "#"]}).events
        assert "".join(str(event["content"]) for event in events) == whole
        assert events[-1]["content"]


def test_outputs_of_one_stream_are_told_apart_by_index() -> None:
    with Face("-c 1024 -np 4") as face:
        prompts = ["one", "two", "three"]
        events = face.ask("/completion", {"prompt": prompts, "n_predict": 3, "temperature": 0, "stream": True}).events
        for index, prompt in enumerate(prompts):
            alone = face.ask("/completion", {"prompt": prompt, "n_predict": 3, "temperature": 0}).json
            assert "".join(str(e["content"]) for e in events if e["index"] == index) == alone["content"]
            assert sum(bool(e["stop"]) for e in events if e["index"] == index) == 1
