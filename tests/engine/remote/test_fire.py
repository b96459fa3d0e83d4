"""Prompts fired at a server elsewhere."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from slotview.engine.backend import BackendError, FireRequest, RequestState, Ticket
from slotview.engine.events import RequestRefused
from slotview.engine.remote.backend import RemoteBackend
from slotview.engine.remote.fire import sender as fire
from slotview.engine.remote.fire.ticket import RemoteTicket
from slotview.engine.remote.http import client
from slotview.engine.remote.http.sse import events
from tests.engine.remote.recorded import has_looked, healthy, recorded, watching
from tests.fake_server import FakeServer, Reply, json_reply


def until(ready: Callable[[], bool], seconds: float = 5.0) -> None:
    """Wait for something that no condition announces."""
    waiter = threading.Event()
    for _ in range(int(seconds / 0.01)):
        if ready():
            return
        waiter.wait(0.01)
    raise AssertionError("it did not happen in time")


def finished(ticket: Ticket) -> None:
    until(lambda: ticket.view().state.is_over)


def ready(backend: RemoteBackend) -> None:
    backend.wait_until(has_looked, 5)


def event(**fields: object) -> bytes:
    return b"data: " + json.dumps(fields).encode() + b"\n\n"


def partial(text: str, count: int) -> bytes:
    return event(index=0, content=text, stop=False, id_slot=-1, tokens_predicted=count, tokens_evaluated=11)


def test_a_recorded_stream() -> None:
    with FakeServer(healthy(completion=recorded("completion_stream"))) as server, watching(server) as backend:
        ready(backend)
        request = FireRequest("Once", n_predict=4, temperature=0.0, seed=7, id_slot=0, ignore_eos=True)
        (ticket,) = backend.submit(request)
        finished(ticket)
        view = ticket.view()
        (sent,) = server.asked("/completion")
    assert (view.state, view.slot, view.n_decoded, view.n_prompt, view.finish) == (RequestState.DONE, 0, 4, 11, "limit")
    assert view.truncated is False
    assert view.tokens_per_second is not None
    assert view.tokens_per_second > 1
    assert ticket.take() == ticket.text() == " was a blacksmith."
    assert ticket.take() == ""
    assert sent.json == {"prompt": "Once", "stream": True, "n_predict": 4, "temperature": 0.0, "seed": 7, "id_slot": 0,
                         "slot_id": 0,
                         "ignore_eos": True}  # fmt: skip


def test_what_is_not_asked_for_is_left_to_the_server() -> None:
    with FakeServer(healthy(completion=recorded("completion_stream"))) as server, watching(server) as backend:
        ready(backend)
        backend.submit(FireRequest("Once"))
        (sent,) = server.wait_for("/completion")
    assert sent.json == {"prompt": "Once", "stream": True}


def test_several_at_once_are_numbered_and_independent() -> None:
    with FakeServer(healthy(completion=recorded("completion_stream"))) as server, watching(server) as backend:
        ready(backend)
        tickets = backend.submit(FireRequest("Once", count=20)) + backend.submit(FireRequest("Twice"))
        for ticket in tickets:
            finished(ticket)
        assert [ticket.number for ticket in tickets] == list(range(1, 22))
        assert {ticket.view().state for ticket in tickets} == {RequestState.DONE}
        assert len(server.asked("/completion")) == 21


def test_text_streams_while_it_comes() -> None:
    parts = [partial("Hello", 1), partial(" world", 2)]
    reply = Reply(parts=[*parts, b": ping\n\n"], gap=0.1)
    with FakeServer(healthy(completion=reply)) as server, watching(server) as backend:
        ready(backend)
        (ticket,) = backend.submit(FireRequest("x"))
        until(lambda: ticket.text() == "Hello")
        view = ticket.view()
        assert (view.state, view.n_decoded) == (RequestState.GENERATING, 1)
        assert view.first_token is not None
        assert view.queue_wait is not None
        until(lambda: ticket.text() == "Hello world")


def test_the_speed_while_it_comes_counts_from_the_first_token() -> None:
    now = 5.0
    speeds: list[float | None] = []

    def content() -> Iterator[bytes]:
        nonlocal now
        for seconds, count in ((1.0, 1), (2.0, 5), (0.0, 5)):
            now += seconds
            yield partial("a", count)
            speeds.append(ticket.view().tokens_per_second)

    ticket = RemoteTicket(1, "x", lambda: now)
    transport = httpx.MockTransport(lambda request: httpx.Response(200, content=content()))
    with httpx.Client(transport=transport) as asking:
        ticket.run(asking, "http://127.0.0.1/completion", {})
    assert speeds == [None, 2.0, 2.0]


def test_closing_gives_up_all_that_is_open() -> None:
    with FakeServer(healthy(completion=Reply(hang=True))) as server, watching(server) as backend:
        ready(backend)
        tickets = [*backend.submit(FireRequest("x")), *backend.submit(FireRequest("y"))]
        server.wait_for("/completion", 2)
    assert {ticket.view().state for ticket in tickets} == {RequestState.CANCELLED}


def test_cancelling_a_waiting_request_closes_its_connection() -> None:
    with FakeServer(healthy(completion=Reply(hang=True))) as server, watching(server) as backend:
        ready(backend)
        first, second = backend.submit(FireRequest("x", count=2))
        server.wait_for("/completion", 2)
        assert first.view().state is RequestState.WAITING
        first.cancel()
        first.cancel()
        assert first.view().state is RequestState.CANCELLED
        assert first.view().queue_wait == pytest.approx(first.view().total_seconds, abs=0.05)
        until(lambda: server.now_open("/completion") == 1)
        assert second.view().state is RequestState.WAITING
    finished(second)
    assert second.view().state is RequestState.CANCELLED  # closing the backend gives up what is open


@pytest.mark.parametrize(
    ("reply", "status", "words"),
    [
        (recorded("pool_full_500"), 500, "Context size has been exceeded."),
        (recorded("prompt_too_long_stream_400"), 400, "exceeds the available context size"),
        (Reply(b"<html>", 502, "text/html"), 502, "a web page"),
        (Reply(parts=[partial("a", 1), event(error={"code": 500, "message": "Context size has been exceeded."})]), 500,
         "Context size has been exceeded."),
        (Reply(parts=[partial("a", 1)]), None, "the stream ended before the answer did"),
        (Reply(parts=[partial("a", 1), b'error: {"code":500,"message":"boom"}\n\n']), 500, "boom"),
        (Reply(parts=[partial("a", 1), event(error="boom")]), None, "boom"),
        (Reply(parts=[partial("a", 1) + b"data: [DONE]\n\n", b": ping\n\n"], gap=60), None, "ended before the answer"),
        (Reply(parts=[b"data: " + b"x" * 999_999] * 9), None, "a line over 8 MB instead of events"),
        (Reply(b"<html>hello", 200, "text/html"), None, "the answer is no stream of events"),
        (Reply(status=307, headers={"Location": "//u:pw@h/completion?token=1"}), 307, "a redirect to //h/completion"),
    ],
)  # fmt: skip
def test_failures_are_told(reply: Reply, status: int | None, words: str) -> None:
    with FakeServer(healthy(completion=reply)) as server, watching(server) as backend:
        ready(backend)
        (ticket,) = backend.submit(FireRequest("x"))
        finished(ticket)
        view = ticket.view()
    assert (view.state, view.status) == (RequestState.FAILED, status)
    assert view.finish is not None
    assert words in view.finish


def test_the_old_form_of_the_end() -> None:
    last = event(content="", stop=True, stopped_eos=False, stopped_word=True, stopped_limit=False, tokens_predicted=3)
    with FakeServer(healthy(completion=Reply(parts=[partial("a", 1), last]))) as server, watching(server) as backend:
        ready(backend)
        (ticket,) = backend.submit(FireRequest("x"))
        finished(ticket)
    assert ticket.view().finish == "word"


@pytest.mark.parametrize("count", [0, 257])
def test_too_many_at_once(count: int) -> None:
    with FakeServer(healthy()) as server, watching(server) as backend:
        ready(backend)
        with pytest.raises(BackendError, match="use 1 to 256"):
            backend.submit(FireRequest("x", count=count))


def test_events_however_the_bytes_are_cut() -> None:
    stream = (
        b": ping\n\n"
        + event(a=1, content="日本")
        + b"data: null\r\n\r\ndata: {broken\n\n"
        + event(b=2)
        + b"data: [DONE]"
    )
    whole = [{"a": 1, "content": "日本"}, {"b": 2}]
    for variant in (stream, b"\xef\xbb\xbf" + stream[8:], *(stream.replace(b"\n", end) for end in (b"\r", b"\r\n"))):
        for size in (1, 3, 7, 1000):
            assert list(events(variant[at : at + size] for at in range(0, len(variant), size))) == whole


def test_nothing_can_be_fired_after_closing() -> None:
    with FakeServer(healthy()) as server:
        with watching(server) as backend:
            pass
        with pytest.raises(BackendError, match="closed"):
            backend.submit(FireRequest("x"))


def test_a_server_that_answers_no_stream() -> None:
    with FakeServer(healthy(completion=json_reply({"content": "x"}))) as server, watching(server) as backend:
        ready(backend)
        (ticket,) = backend.submit(FireRequest("x"))
        finished(ticket)
    assert ticket.view().state is RequestState.FAILED


def test_the_screen_does_not_wait_until_all_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """To start 255 requests takes long; one that is cancelled before its turn is never sent."""
    may_open = threading.Event()

    def slow_to_open(*args: Any, **options: Any) -> httpx.Client:
        may_open.wait(5)
        return client.open_client(*args, **options)

    monkeypatch.setattr(fire, "open_client", slow_to_open)
    with FakeServer(healthy(completion=recorded("completion_stream"))) as server, watching(server) as backend:
        ready(backend)
        (unwanted,) = backend.submit(FireRequest("Never"))
        (ticket,) = backend.submit(FireRequest("Once"))
        assert ticket.view().state is RequestState.WAITING
        unwanted.cancel()
        may_open.set()
        finished(ticket)
        assert [sent.json for sent in server.asked("/completion")] == [{"prompt": "Once", "stream": True}]
    assert unwanted.view().state is RequestState.CANCELLED


def test_a_client_that_cannot_be_made_is_that_requests_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_certificates(*args: Any, **options: Any) -> httpx.Client:
        raise FileNotFoundError(2, "No such file")

    with FakeServer(healthy()) as server, watching(server) as backend:
        ready(backend)
        monkeypatch.setattr(fire, "open_client", no_certificates)
        (ticket,) = backend.submit(FireRequest("Once"))
        finished(ticket)
    assert ticket.view().state is RequestState.FAILED
    assert ticket.view().finish == "SSL_CERT_FILE names no certificate file"


def test_a_refused_prompt_is_an_event_without_the_key() -> None:
    key = "k3y-k3y-k3y"
    words = f"request (7 tokens) exceeds the available context size for {key}"
    refused = json_reply({"error": {"code": 400, "message": words, "type": "exceed_context_size_error"}}, 400)
    with FakeServer(healthy(completion=refused)) as server, watching(server, api_key=key) as backend:
        ready(backend)
        finished(backend.submit(FireRequest("x"))[0])
        until(lambda: bool(refusals(backend)))
        (event,) = refusals(backend)
    assert event.number == 1
    assert "exceeds the available context size" in event.error
    assert key not in event.error


def refusals(backend: RemoteBackend) -> list[RequestRefused]:
    return [event for event in backend.events(0).events if isinstance(event, RequestRefused)]
