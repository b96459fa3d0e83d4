"""The embedded engine behind the Backend protocol, with a stub model."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from slotview.engine.backend import BackendError, FireRequest, RequestState, SlotAction, Ticket
from slotview.engine.context import LaunchFlags
from slotview.engine.embedded import local
from slotview.engine.embedded.local import LocalBackend
from slotview.engine.events import LogLine, Notice, Retuned, TaskDeferred, TaskEnded
from slotview.engine.flags import EngineFlags, parse_flags
from slotview.engine.pace import DeviceProfile
from slotview.engine.snapshot import HealthState, SlotState
from tests.engine.stub_model import StubModel

SLOW = DeviceProfile("slow", "for tests", step=20.0, per_slot=0.0, per_prompt=5.0, per_prompt_token=0.0)
Start = Callable[..., LocalBackend]


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Start a backend over a stub model with flags and a pace."""
    opened: list[LocalBackend] = []

    def begin(line: str = "-c 2048 -np 4", pace: DeviceProfile | None = None) -> LocalBackend:
        flags = parse_flags(["--temp", "0", "--ignore-eos", "-cram", "0", *line.split()])
        monkeypatch.setattr(local, "load", lambda _: StubModel())
        backend = LocalBackend(flags)
        opened.append(backend)
        backend.start()
        backend.wait_ready(20).set_profile(pace)
        return backend

    yield begin
    for backend in opened:
        backend.close()


def until(backend: LocalBackend, happened: Callable[[], bool], seconds: float = 20) -> None:
    """Wait for something that an event of the engine goes with."""
    deadline = time.monotonic() + seconds
    cursor = 0
    while not happened():
        assert time.monotonic() < deadline, "it did not happen"
        cursor = backend.wait_ready().ring.wait_after(cursor, 0.02).cursor


def all_over(tickets: list[Ticket]) -> Callable[[], bool]:
    return lambda: all(ticket.view().state.is_over for ticket in tickets)


def fire(backend: LocalBackend, prompt: str = "tell me", **more: int) -> list[Ticket]:
    return list(backend.submit(FireRequest(prompt, **{"n_predict": 12, **more})))  # type: ignore[arg-type]


def test_what_is_odd_about_a_vocabulary_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    model = StubModel()
    model.tokenizer.warnings = ("text may be cut otherwise",)
    monkeypatch.setattr(local, "load", lambda _: model)
    with closing(LocalBackend(parse_flags([]))) as backend:
        backend.start()
        backend.wait_ready(20)
        told = [event for event in backend.events(0).events if isinstance(event, Notice)]
    assert [(event.text, event.severity) for event in told] == [("text may be cut otherwise", "warning")]


def test_eight_requests_on_four_slots(start: Start) -> None:
    backend = start(pace=SLOW)
    tickets = fire(backend, count=8)
    until(backend, lambda: backend.latest().waiting.count == 4)
    snapshot = backend.latest()
    assert snapshot.busy == 4
    assert [len(snapshot.waiting.requests or ()), snapshot.facts.n_ctx_slot] == [4, 512]
    until(backend, all_over(tickets))
    views = [ticket.view() for ticket in tickets]
    assert {view.state for view in views} == {RequestState.DONE}
    assert all(view.n_decoded == 12 and view.finish == "limit" for view in views)
    assert min(view.queue_wait or 0 for view in views[4:]) > max(view.queue_wait or 0 for view in views[:4])
    events = backend.events(0).events
    assert sum(isinstance(event, TaskDeferred) for event in events) == 4
    assert len({event.task for event in events if isinstance(event, TaskEnded)}) == 8


def test_text_streams_and_is_taken_once(start: Start) -> None:
    backend = start()
    (ticket,) = fire(backend)
    until(backend, all_over([ticket]))
    assert ticket.take() == ticket.text() != ""
    assert ticket.take() == ""


def test_a_retune_loses_no_token_and_repeats_none(start: Start) -> None:
    calm = start()
    (undisturbed,) = fire(calm, n_predict=40)
    until(calm, all_over([undisturbed]))
    backend = start(pace=SLOW)
    (ticket,) = fire(backend, n_predict=40)
    until(backend, lambda: (ticket.view().n_decoded or 0) > 5)
    report = backend.retune(LaunchFlags(ctx_size=2048, parallel=2, kv_unified=True)).result(20)
    backend.wait_ready().set_profile(None)
    until(backend, all_over([ticket]))
    assert report.n_requeued == 1
    assert report.n_tokens_again > 0
    assert ticket.text() == undisturbed.text()
    assert ticket.view().n_decoded == 40
    assert backend.latest().facts.unified is True
    assert backend.flags.parallel == 2
    assert any(isinstance(event, Retuned) for event in backend.events(0).events)


def test_one_that_lost_its_slot_waits_from_then_on_and_keeps_its_speed(start: Start) -> None:
    backend = start("-c 2048 -np 2", pace=SLOW)
    tickets = backend.submit(FireRequest("one", count=2, n_predict=40))
    until(backend, lambda: all((ticket.view().n_decoded or 0) > 5 for ticket in tickets))
    backend.retune(LaunchFlags(ctx_size=2048, parallel=1)).result(20)
    one_of_each = {RequestState.GENERATING, RequestState.WAITING}
    until(backend, lambda: {ticket.view().state for ticket in tickets} == one_of_each)
    (waiting,) = (ticket for ticket in tickets if ticket.view().state is RequestState.WAITING)
    view, now = waiting.view(), backend.latest().time
    assert 0 < (view.waited(now) or 0) < now - view.fired_at - 5 * SLOW.step / 1000
    assert view.waited(now + 1) == pytest.approx((view.waited(now) or 0) + 1)
    until(backend, all_over(list(tickets)))
    assert (waiting.view().queue_wait or 0) > 20 * SLOW.step / 1000
    fast = [ticket.view().tokens_per_second or 0 for ticket in tickets]
    assert min(fast) > 0.6 * max(fast)


def test_speed_after_a_retune_leaves_out_what_the_prompt_took_again(start: Start) -> None:
    backend = start("-c 2048 -np 2", pace=DeviceProfile("slow prompts", "for tests", 10.0, 0.0, 400.0, 0.0))
    (ticket,) = fire(backend, n_predict=30)
    until(backend, lambda: (ticket.view().n_decoded or 0) > 5)
    backend.retune(LaunchFlags(ctx_size=2048, parallel=1)).result(20)
    until(backend, lambda: ticket.view().state is RequestState.GENERATING)
    until(backend, lambda: (ticket.view().n_decoded or 0) > 15)
    view = ticket.view()
    passed = backend.latest().time - view.fired_at
    assert (view.tokens_per_second or 0) > ((view.n_decoded or 0) - 3) / (passed - 0.6), "0.8 s went to the prompt"
    until(backend, all_over([ticket]))
    assert (ticket.view().tokens_per_second or 0) > 27 / ((ticket.view().total_seconds or 0) - 0.6)


def test_a_prompt_is_seen_while_it_is_worked_on_whenever_one_looks(start: Start) -> None:
    backend = start("-c 512 -np 1", pace=DeviceProfile("slow prompts", "for tests", 1.0, 0.0, 400.0, 0.0))
    first, second = (fire(backend, words, n_predict=5)[0] for words in ("one", "another"))
    until(backend, all_over([first]))
    time.sleep(0.1)
    (slot,) = backend.latest().slots or ()
    assert (slot.state, slot.task) == (SlotState.PROMPT, second.view().task)


def test_the_first_prompt_after_a_retune_of_an_idle_engine_takes_the_devices_time(start: Start) -> None:
    backend = start(pace=DeviceProfile("slow prompts", "for tests", 1.0, 0.0, 300.0, 0.0))
    backend.retune(LaunchFlags(ctx_size=2048, parallel=2)).result(20)
    (ticket,) = fire(backend, n_predict=1)
    until(backend, all_over([ticket]))
    first = ticket.view().first_token
    assert first is not None
    assert first >= 0.29


def test_requests_that_lost_their_slot_to_a_retune_wait_again(start: Start) -> None:
    backend = start(pace=SLOW)
    tickets = fire(backend, count=4, n_predict=40)
    until(backend, lambda: all((ticket.view().n_decoded or 0) > 1 for ticket in tickets))
    backend.retune(LaunchFlags(ctx_size=2048, parallel=1)).result(20)
    until(backend, lambda: tickets[0].view().slot == 0 and tickets[3].view().state is RequestState.WAITING)
    first, *others = [ticket.view() for ticket in tickets]
    assert first.state is RequestState.GENERATING
    assert {(view.state, view.slot) for view in others} == {(RequestState.WAITING, None)}
    backend.wait_ready().set_profile(None)
    until(backend, all_over(tickets))
    assert all(ticket.view().n_decoded == 40 and ticket.view().slot == 0 for ticket in tickets)


def test_a_retune_that_cannot_be_leaves_the_engine_as_it_was(start: Start) -> None:
    backend = start()
    with pytest.raises(BackendError, match="at most 256"):
        backend.retune(LaunchFlags(ctx_size=2048, parallel=257)).result(20)
    assert backend.latest().facts.n_slots == 4
    (ticket,) = fire(backend)
    until(backend, all_over([ticket]))
    assert ticket.view().state is RequestState.DONE


def test_a_preview_says_what_will_happen_before_it_does(start: Start) -> None:
    backend = start()
    preview = backend.preview(LaunchFlags(ctx_size=4096, parallel=3))
    assert (preview.n_ctx_slot, preview.pool_cells) == (1536, 4608)
    assert any("rounding down to 4608" in line for line in preview.log)
    assert any("went up" in note for note in preview.notes)
    assert backend.latest().facts.n_slots == 4
    assert "at most 256" in (backend.preview(LaunchFlags(parallel=999)).error or "")


def test_the_log_says_what_the_flags_came_to(start: Start) -> None:
    backend = start("-c 1000 -np 3")
    lines = [(event.level, event.text) for event in backend.events(0).events if isinstance(event, LogLine)]
    assert lines[:2] == [
        ("W", "llama_context: n_ctx is not divisible by n_seq_max - rounding down to 1536"),
        ("I", "srv    load_model: initializing, n_slots = 3, n_ctx_slot = 512, kv_unified = 'false'"),
    ]
    assert "the total went up: 1024 / 3 slots = 341" in lines[2][1]
    seen = backend.events(0).cursor
    backend.retune(LaunchFlags(ctx_size=1024, parallel=1)).result(20)
    (line, *_) = [event.text for event in backend.events(seen).events if isinstance(event, LogLine)]
    assert "n_slots = 1, n_ctx_slot = 1024" in line


def test_a_cancelled_request_frees_its_slot(start: Start) -> None:
    backend = start("-c 512 -np 1", pace=SLOW)
    first, second = fire(backend, count=2, n_predict=200)
    until(backend, lambda: (first.view().n_decoded or 0) > 0)
    first.cancel()
    until(backend, lambda: (second.view().n_decoded or 0) > 0)
    assert first.view().state is RequestState.CANCELLED
    second.cancel()
    until(backend, all_over([second]))
    assert backend.latest().busy == 0


def test_a_request_cancelled_while_it_waits_says_how_long_it_waited(start: Start) -> None:
    backend = start("-c 512 -np 1", pace=SLOW)
    first, second = fire(backend, count=2, n_predict=200)
    until(backend, lambda: (first.view().n_decoded or 0) > 0)
    second.cancel()
    until(backend, all_over([second]))
    view = second.view()
    assert view.state is RequestState.CANCELLED
    assert view.waited(view.fired_at + 1000) == pytest.approx(view.total_seconds, abs=0.05)
    first.cancel()


def test_a_prompt_that_is_too_long_says_so(start: Start) -> None:
    backend = start("-c 256 -np 1")
    (ticket,) = fire(backend, prompt="x" * 300)
    until(backend, all_over([ticket]))
    view = ticket.view()
    assert (view.state, view.status) == (RequestState.FAILED, 400)
    assert "exceeds the available context size (256 tokens)" in (view.finish or "")


def test_erasing_a_slot(start: Start) -> None:
    backend = start()
    (ticket,) = fire(backend)
    until(backend, all_over([ticket]))
    slot = ticket.view().slot
    assert slot is not None
    result = backend.slot_action(SlotAction.ERASE, slot).result(20)
    assert result.n_tokens == len("tell me") + 11
    with pytest.raises(BackendError, match="no slot 9"):
        backend.slot_action(SlotAction.ERASE, 9)


def test_closing_does_not_wait_for_a_slow_step(start: Start) -> None:
    slow = DeviceProfile("very slow", "for tests", step=60_000.0, per_slot=0.0, per_prompt=60_000.0, per_prompt_token=0)
    backend = start(pace=slow)
    fire(backend)
    until(backend, lambda: backend.latest().busy == 1)
    began = time.monotonic()
    backend.close()
    assert time.monotonic() - began < 2


def test_a_missing_model_is_one_line_on_the_screen(tmp_path: Path) -> None:
    backend = LocalBackend(EngineFlags(model=str(tmp_path / "none.gguf")))
    backend.start()
    with pytest.raises(BackendError):
        backend.wait_ready(20)
    health = backend.latest().health
    assert health.state is HealthState.ERROR
    assert "none.gguf" in health.message
    assert "\n" not in health.message
    assert backend.latest().waiting.why == backend.latest().pool.why == "the engine does not run", "no advice on flags"
    backend.close()


def test_the_header_knows_when_this_machine_is_slower_than_the_profile(start: Start) -> None:
    hasty = DeviceProfile("hasty", "for tests", step=1e-3, per_slot=0.0, per_prompt=1e-3, per_prompt_token=0.0)
    backend = start(pace=hasty)
    tickets = fire(backend, count=2)
    until(backend, all_over(tickets))
    pace = backend.latest().pace
    assert pace is not None
    assert pace.profile == "hasty"
    assert pace.lag is not None
    assert pace.lag > 1


def test_there_is_no_average_before_the_first_decode(start: Start) -> None:
    backend = start()
    assert backend.latest().totals.busy_per_decode is None
    tickets = fire(backend)
    until(backend, all_over(tickets))
    assert backend.latest().totals.busy_per_decode == 1


def test_details_of_a_slot_that_a_retune_took_away(start: Start) -> None:
    backend = start()
    backend.retune(LaunchFlags(ctx_size=2048, parallel=2)).result(20)
    assert backend.details(1).result(20).slot == 1
    with pytest.raises(BackendError, match="there is no slot 3"):
        backend.details(3).result(20)


def test_a_model_goes_by_the_name_it_has_over_http(start: Start) -> None:
    assert start("-np 1 --alias zebra,ape").latest().facts.model == "ape"
    assert start("-np 1").latest().facts.model == StubModel().name
