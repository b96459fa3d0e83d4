# ruff: noqa: E501
"""Reading a real server's log."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from slotview.engine.events import ContextShifted, Event, LogLine, PoolFull, Purged, SlotChosen
from slotview.engine.runner.log_reader import LogReader

RECORDINGS = Path(__file__).resolve().parents[4] / "shared" / "recordings"
UNIFIED = """\
0.00.145.529 I llama_context: n_ctx                 = 2048
0.00.145.529 I llama_context: n_ctx_seq             = 2048
0.00.224.763 I llama_kv_cache: size =  180.00 MiB (  2048 cells,  30 layers,  4/4 seqs), K (f16):   90.00 MiB, V (f16):   90.00 MiB
0.00.256.576 I srv    load_model: initializing, n_slots = 4, n_ctx_slot = 2048, kv_unified = 'true'
0.01.055.402 I slot get_availabl: id  3 | task -1 | selected slot by LRU, t_last = -1
0.01.055.504 I slot launch_slot_: id  3 | task 1 | processing task, is_child = 0
0.01.055.600 I slot get_availabl: id  2 | task -1 | selected slot by LCP similarity, f_sim_best = 0.333 (> 0.100 thold), f_keep = 0.030
0.01.055.700 I slot launch_slot_: id  2 | task 7 | processing task, is_child = 0
0.02.000.000 W slot   operator(): id  2 | task 7 | slot context shift, n_keep = 10, n_left = 245, n_discard = 122
0.02.100.000 W srv  try_clear_id: purging slot 0 with 119 tokens
0.02.200.000 E srv  update_slots: decode() failed: Context size has been exceeded.
"""


def read(text: str) -> tuple[LogReader, list[Event]]:
    reader = LogReader(lambda: 5.0)
    return reader, [event for line in text.splitlines() for event in reader.read(line)]


def test_the_log_tells_the_pools_mode_and_size() -> None:
    facts = read(UNIFIED)[0].facts
    assert (facts.n_slots, facts.n_ctx_slot, facts.unified, facts.n_ctx) == (4, 2048, True, 2048)
    assert (facts.kv_bytes, facts.type_k) == (180 * 2**20, "f16")


def test_the_log_tells_why_a_slot_was_chosen_and_what_was_lost() -> None:
    events = read(UNIFIED)[1]
    assert SlotChosen(5.0, 3, 1, "lru") in events
    assert SlotChosen(5.0, 2, 7, "lcp", 0.333, 0.03) in events
    assert ContextShifted(5.0, 2, 7, 10, 245, 122) in events
    assert Purged(5.0, 0, 119) in events
    assert PoolFull(5.0, 0) in events


def as_json(line: str) -> str:
    text = line[len("0.00.145.529 I ") :]
    level = {"I": "info", "W": "warn", "E": "error"}[line[len("0.00.145.529 ")]]
    return json.dumps({"type": "log", "time": 1, "level": level, "msg": f"{text}\n"}, separators=(",", ":"))


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(lambda line: line[len("0.00.145.529 ") :], id="no-log-timestamps"),
        pytest.param(lambda line: line[len("0.00.145.529 I ") :], id="no-log-prefix"),
        pytest.param(
            lambda line: f"\x1b[34m{line[:12]}\x1b[0m \x1b[32m{line[13:15]}\x1b[0m{line[15:]}", id="log-colors"
        ),
        pytest.param(as_json, id="log-jsonl"),
    ],
)
def test_however_the_log_is_written_it_tells_the_same(written: Callable[[str], str]) -> None:
    plain, events = read(UNIFIED)
    reader, same = read("\n".join(map(written, UNIFIED.splitlines())))
    assert reader.facts == plain.facts
    assert [event for event in same if not isinstance(event, LogLine)] == [
        event for event in events if not isinstance(event, LogLine)
    ]
    shown = [event.text for event in same if isinstance(event, LogLine)]
    assert [text for text in shown if text.startswith(("srv", "slot"))] == [
        event.text for event in events if isinstance(event, LogLine)
    ]


def test_a_message_of_several_lines_in_json_is_several_lines() -> None:
    told = read(r'{"type":"log","time":1,"level":"error","msg":"srv  init: one\ntwo\n"}')[1]
    assert told == [LogLine(5.0, "E", "srv  init: one"), LogLine(5.0, "E", "two")]


def test_a_line_that_only_looks_like_json_or_a_level_is_shown_as_it_is() -> None:
    assert read('{"type":"log" and no more')[1] == [LogLine(5.0, "", '{"type":"log" and no more')]
    assert read("I am a line of a template")[1] == [LogLine(5.0, "", "I am a line of a template")]


ROUTER = """\
0.02.025.614 I srv          load: spawning server instance with name=one on port 53651
[53651] 0.00.054.697 I llama_context: n_ctx                 = 1024
[53651] 0.00.086.869 I srv    load_model: initializing, n_slots = 2, n_ctx_slot = 512, kv_unified = 'false'
0.03.025.614 I srv          load: spawning server instance with name=two on port 53652
[53652] 0.00.054.697 I llama_context: n_ctx                 = 4096
[53652] 0.00.086.869 I srv    load_model: initializing, n_slots = 4, n_ctx_slot = 4096, kv_unified = 'true'
[53651] 0.02.000.000 W slot   operator(): id  0 | task 7 | slot context shift, n_keep = 1, n_left = 9, n_discard = 4
[53652] 0.02.100.000 W srv  try_clear_id: purging slot 0 with 119 tokens
"""


@pytest.mark.parametrize(
    ("model", "unified", "n_ctx", "happened"),
    [
        ("one", False, 1024, [ContextShifted(5.0, 0, 7, 1, 9, 4)]),
        ("two", True, 4096, [Purged(5.0, 0, 119)]),
        (None, None, None, []),
    ],
)
def test_of_a_routers_models_only_the_chosen_one_counts(
    model: str | None, unified: bool | None, n_ctx: int | None, happened: list[Event]
) -> None:
    reader = LogReader(lambda: 5.0, model=model)
    events = [event for line in ROUTER.splitlines() for event in reader.read(line)]
    assert (reader.facts.unified, reader.facts.n_ctx) == (unified, n_ctx)
    assert [event for event in events if not isinstance(event, LogLine)] == happened
    assert LogLine(5.0, "W", "[53652] srv  try_clear_id: purging slot 0 with 119 tokens") in events


def test_a_secret_in_the_log_is_not_shown() -> None:
    reader = LogReader(lambda: 5.0, lambda text: text.replace("key1", "***"))
    (line,) = reader.read("0.00.145.529 I srv  main: started with --api-key key1")
    assert isinstance(line, LogLine)
    assert line.text == "srv  main: started with --api-key ***"


def test_the_librarys_chatter_is_not_shown_but_what_a_crash_says_is() -> None:
    events = read(UNIFIED + "terminate called after throwing an instance of 'std::bad_alloc'")[1]
    shown = [event.text for event in events if isinstance(event, LogLine)]
    assert not any("llama_context" in text for text in shown)
    assert any("std::bad_alloc" in text for text in shown)


@pytest.mark.parametrize(
    ("name", "unified"), [("log_split.txt", False), ("log_unified.txt", True), ("log_poolfull.txt", True)]
)
def test_recorded_logs(name: str, unified: bool) -> None:
    path = RECORDINGS / name
    if not path.exists():
        pytest.skip("the recordings are not beside this checkout")
    reader, events = read(path.read_text(encoding="utf-8"))
    assert reader.facts.unified is unified
    assert reader.facts.n_slots == 4
    assert any(isinstance(event, PoolFull) for event in events) == (name == "log_poolfull.txt")
