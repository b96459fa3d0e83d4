"""What GET /slots and /metrics say (spec §7.3, §7.6)."""

from __future__ import annotations

from slotview.engine.serve.answers.slots_json import metrics_text, slots_json
from tests.engine.slots.desk import Desk, numbered


def test_a_slot_tells_of_its_task_while_that_runs() -> None:
    desk = Desk(parallel=2, ctx_size=512)
    desk.answer(numbered(10), n_predict=1, id_slot=0)
    desk.ask(numbered(12), n_predict=9, id_slot=0)
    desk.step(3)
    busy, unused = slots_json(desk.core)
    names = ("is_processing", "n_prompt_tokens", "n_prompt_tokens_processed", "n_prompt_tokens_cache")
    assert [busy[name] for name in names] == [True, 14, 2, 10]
    assert busy["next_token"] == [{"has_next_token": True, "has_new_line": False, "n_remain": 6, "n_decoded": 3}]
    assert unused == {"id": 1, "n_ctx": 256, "speculative": False, "is_processing": False}
    desk.run()
    idle, _ = slots_json(desk.core)
    assert [idle[name] for name in names] == [False, 20, 0, 0]
    assert idle["next_token"] == [{"has_next_token": False, "has_new_line": False, "n_remain": -1, "n_decoded": 0}]


def test_texts_and_all_parameters_are_told_where_that_was_asked_for() -> None:
    shown = {}
    for debug in (True, False):
        desk = Desk(parallel=1, ctx_size=256, slots_debug=debug)
        answer = desk.answer("hello", n_predict=3)
        (shown[debug],) = slots_json(desk.core)
    assert (shown[True]["prompt"], shown[True]["generated"]) == ("hello", answer.text)
    assert not {"prompt", "generated"} & shown[False].keys()
    params = [shown[debug]["params"] for debug in (True, False)]
    assert ["grammar" in one for one in params if isinstance(one, dict)] == [True, False]


def test_metrics_have_six_digits() -> None:
    desk = Desk(parallel=1, ctx_size=256)
    desk.answer(numbered(7), n_predict=4)
    lines = metrics_text(desk.core.scrape()).splitlines()
    told = dict(line.removeprefix("llamacpp:").split(" ") for line in lines if not line.startswith("#"))
    assert (told["prompt_tokens_total"], told["predicted_tokens_seconds"]) == ("7", "1000")
    assert (told["tokens_predicted_seconds_total"], told["spec_decode_num_drafts_total"]) == ("0.003", "0")
    assert "# TYPE llamacpp:prompt_tokens_total counter" in lines
    assert "# TYPE llamacpp:requests_deferred gauge" in lines
