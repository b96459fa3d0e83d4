"""Random requests, cancels, actions and retunes: invariants hold, and nobody's text depends on the others."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slotview.engine.slots.core import Core
from slotview.engine.slots.queue.task import ActionDone, Failed, Final
from tests.engine.slots.desk import Desk, params, plan_of
from tests.engine.stub_model import StubModel

FULL = "Context size has been exceeded."
FAMILIES = "context shift cannot be used for shared prompt"
PROMPTS = st.builds(
    lambda family, length, end: tuple([97 + family] * length + [65 + i for i in range(end)]),
    st.integers(0, 2),
    st.integers(0, 70),
    st.integers(0, 4),
)
REQUESTS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "prompt": PROMPTS,
        "n_predict": st.integers(0, 60),
        "temperature": st.sampled_from([0.0, 1.0]),
        "seed": st.integers(1, 5),
        "id_slot": st.sampled_from([-1, -1, -1, 0, 1, 5]),
        "n_cmpl": st.sampled_from([1, 1, 1, 2]),
        "cache_prompt": st.booleans(),
        "n_cache_reuse": st.sampled_from([0, 4]),
        "stream": st.booleans(),
    }
)
LAYOUTS: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {"parallel": 2, "ctx_size": 512},
        {"parallel": 3, "ctx_size": 768, "batch": 16},
        {"parallel": 3, "ctx_size": 256, "kv_unified": True},
        {"parallel": 4, "ctx_size": 512, "kv_unified": True, "batch": 40, "ubatch": 8},
        {"parallel": 2, "ctx_size": 1024, "kv_unified": True},
    ]
)
OPTIONS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "cache_ram": st.sampled_from([0, 8192]),
        "cont_batching": st.booleans(),
        "batching": st.sampled_from(["continuous", "continuous", "static"]),
        "slot_prompt_similarity": st.sampled_from([0.0, 0.1]),
    }
)


@cache
def text_alone(prompt: tuple[int, ...], n_predict: int, temperature: float, seed: int) -> str:
    """What a request says with an engine to itself."""
    desk = Desk(parallel=1, ctx_size=256, check=False, verbosity=0)
    return desk.answer(list(prompt), n_predict=n_predict, temperature=temperature, seed=seed).text


class Story:
    """Runs drawn deeds and remembers what was asked for."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data
        self.desk = Desk(verbosity=0, **data.draw(LAYOUTS), **data.draw(OPTIONS))
        self.asked: dict[int, dict[str, Any]] = {}
        self.actions: list[int] = []
        self.saved: list[bytes] = []

    def ask(self) -> None:
        request = self.data.draw(REQUESTS)
        n = min(request["n_cmpl"], len(self.desk.core.slots))
        given = {name: value for name, value in request.items() if name not in {"prompt", "n_cmpl"}}
        prompt = np.array(request["prompt"], np.int32)
        for i, task in enumerate(self.desk.core.post([prompt], params(n_cmpl=n, **given), self.desk.now)):
            self.asked[task] = request | {"seed": request["seed"] + i}

    def step(self) -> None:
        self.desk.step(self.data.draw(st.integers(1, 12)))
        self.desk.core.check_integrity()

    def cancel(self) -> None:
        if self.asked:
            self.desk.core.cancel(self.data.draw(st.sampled_from(sorted(self.asked))))

    def act(self) -> None:
        action = self.data.draw(st.sampled_from(["save", "restore", "erase"]))
        content = self.saved[-1] if action == "restore" and self.saved else None
        self.actions.append(self.desk.act(action, self.data.draw(st.integers(0, 3)), content))

    def retune(self) -> None:
        desk = self.desk
        core = Core(plan_of(8192, **self.data.draw(LAYOUTS)), StubModel(), desk.options, now=desk.now)
        core.requeue(desk.core.take_for_retune(), desk.now)
        desk.core = core

    def settle(self) -> None:
        self.desk.run()
        self.desk.core.check_integrity()
        for task in self.actions:
            for done in self.desk.of(task, ActionDone):
                if done.data is not None:
                    self.saved.append(done.data)

    def judge(self) -> None:
        assert not self.desk.busy
        assert self.desk.core.n_deferred == 0
        for task in self.actions:
            assert len(self.desk.ends(task)) == 1
        for task, request in self.asked.items():
            (end,) = self.desk.ends(task)
            if isinstance(end, Failed):
                assert end.cancelled or end.message == FULL or end.kind == "exceed_context_size_error"
                continue
            assert isinstance(end, Final)
            expected = text_alone(request["prompt"], request["n_predict"], request["temperature"], request["seed"])
            if request["prompt"]:
                assert end.text == expected
            if request["stream"]:
                assert self.desk.streamed(task) == end.text


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.data())
def test_every_task_ends_once_with_the_text_it_has_alone(data: st.DataObject) -> None:
    story = Story(data)
    deeds = ["ask", "ask", "ask", "step", "step", "cancel", "act", "retune", "settle"]
    for deed in data.draw(st.lists(st.sampled_from(deeds), min_size=3, max_size=14)):
        getattr(story, deed)()
    story.settle()
    story.judge()


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_shifted_contexts_keep_tokens_and_cells_together(data: st.DataObject) -> None:
    layout = data.draw(LAYOUTS)
    desk = Desk(verbosity=0, context_shift=True, **layout)
    tasks = []
    for _ in range(data.draw(st.integers(1, 4))):
        request = data.draw(REQUESTS)
        given = {name: request[name] for name in ("id_slot", "n_cmpl", "n_cache_reuse")}
        given["n_cmpl"] = min(given["n_cmpl"], 2)
        keep = data.draw(st.integers(-1, 300))
        prompt = [*request["prompt"], 70]
        tasks += desk.post(prompt, n_predict=data.draw(st.integers(1, 600)), n_keep=keep, **given)
        desk.step(data.draw(st.integers(0, 200)))
        desk.core.check_integrity()
    desk.run()
    for task in tasks:
        (end,) = desk.ends(task)
        assert isinstance(end, Final) or (
            isinstance(end, Failed) and (end.cancelled or end.message in {FULL, FAMILIES})
        )


def test_ten_thousand_finished_requests_leave_nothing_behind() -> None:
    import gc

    desk = Desk(parallel=8, ctx_size=2048, kv_unified=True, verbosity=0, check=False)

    def serve(n: int) -> int:
        for start in range(0, n, 100):
            for i in range(100):
                desk.ask([1 + (start + i) % 90, 5, 6], n_predict=1)
            while desk.core.has_work:
                desk.core.step(desk.now)
            desk.core.take_results()
            desk.core.take_events()
        gc.collect()
        return len(gc.get_objects())

    before = serve(1000)
    after = serve(10_000)
    assert after - before < 200
