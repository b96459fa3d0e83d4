"""The engine's thread when the engine itself breaks, which it should not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from slotview.engine.backend import BackendError
from slotview.engine.embedded.host import EngineHost
from slotview.engine.embedded.loading import build_core
from slotview.engine.events import LogLine, Notice
from slotview.engine.flags import parse_flags
from slotview.engine.slots.core import Core, Piece
from slotview.engine.slots.queue.task import ActionTask, Failed, Result, TaskParams
from tests.engine.serve.face import until
from tests.engine.stub_model import StubModel

WHY = "the engine stopped: MemoryError: no room"


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Iterator[EngineHost]:
    """A host whose core breaks at its first step."""

    def begin(core: Core, now: int) -> Piece | None:
        raise MemoryError("no room")

    monkeypatch.setattr(Core, "begin", begin)
    host = EngineHost(build_core(parse_flags(["-c", "256", "-np", "1"]), StubModel(), 0))
    yield host
    host.close()


def _ask(host: EngineHost) -> list[Result]:
    results: list[Result] = []

    def sink(some: Sequence[Result]) -> None:
        results.extend(some)

    host.post([host.core.model.tokenizer.encode("a")] * 2, TaskParams(), sink)
    host.post_action(ActionTask("erase", 0), sink)
    return results


def test_every_request_ends_by_an_error_before_and_after_the_engine_broke(broken: EngineHost) -> None:
    before = _ask(broken)
    broken.start()
    until(lambda: not broken.is_running)
    for results in (before, _ask(broken)):
        assert [result.message for result in results if isinstance(result, Failed)] == [WHY] * 3


def test_work_for_a_boundary_that_never_comes_is_refused(broken: EngineHost) -> None:
    _ask(broken)
    broken.start()
    until(lambda: not broken.is_running)
    with pytest.raises(BackendError, match="the engine stopped"):
        broken.at_boundary(lambda core: None).result(0)


def test_both_the_screen_and_the_log_tell_it(broken: EngineHost) -> None:
    _ask(broken)
    broken.start()
    until(lambda: not broken.is_running)
    texts = {type(event): event.text for event in broken.ring.after(0).events if isinstance(event, Notice | LogLine)}
    assert texts == {Notice: WHY, LogLine: f"srv  update_slots: {WHY}"}
