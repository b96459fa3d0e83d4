"""The lines a log reader sees are llama-server's (spec §9)."""

from __future__ import annotations

import re
from typing import Any

import pytest

from slotview.engine.context.kv_size import KvShape
from slotview.engine.events import LogLine
from tests.engine.slots.desk import Desk, numbered
from tests.engine.stub_model import StubModel

# Two unrelated requests in the default configuration at -lv 4, as recorded from the server; times and addresses as N.
RECORDED = """\
slot get_availabl: id  0 | task -1 |  - skipping, slot is empty
slot get_availabl: id  1 | task -1 |  - skipping, slot is empty
slot get_availabl: id  2 | task -1 |  - skipping, slot is empty
slot get_availabl: id  3 | task -1 |  - skipping, slot is empty
slot get_availabl: id  3 | task -1 | selected slot by LRU, t_last = -1
srv  get_availabl: updating prompt cache
srv          load:  - looking for better prompt, base f_keep = -1.000, f_sim = 0.000
srv        update:  - cache state: 0 prompts, 0.000 MiB (limits: 8192.000 MiB, 2048 tokens, 8589934592 est)
srv  get_availabl: prompt cache update took N ms
slot launch_slot_: id  3 | task -1 | sampler chain: logits -> ?penalties -> ?dry -> ?top-n-sigma -> top-k -> ?typical \
-> top-p -> min-p -> ?xtc -> temp-ext -> dist\x20
slot launch_slot_: id  3 | task -1 | sampler params:\x20
\trepeat_last_n = 64, repeat_penalty = 1.000, frequency_penalty = 0.000, presence_penalty = 0.000
\tdry_multiplier = 0.000, dry_base = 1.750, dry_allowed_length = 2, dry_penalty_last_n = 64
\ttop_k = 40, top_p = 0.950, min_p = 0.050, xtc_probability = 0.000, xtc_threshold = 0.100, typical_p = 1.000, \
top_n_sigma = -1.000, temp = 0.000
\tmirostat = 0, mirostat_lr = 0.100, mirostat_ent = 5.000, adaptive_target = -1.000, adaptive_decay = 0.900
slot launch_slot_: id  3 | task 0 | processing task, is_child = 0
slot process_sing: id  0 | task -1 | saving idle slot to prompt cache
slot prompt_clear: id  0 | task -1 | clearing prompt with 0 tokens
slot process_sing: id  1 | task -1 | saving idle slot to prompt cache
slot prompt_clear: id  1 | task -1 | clearing prompt with 0 tokens
slot process_sing: id  2 | task -1 | saving idle slot to prompt cache
slot prompt_clear: id  2 | task -1 | clearing prompt with 0 tokens
slot   operator(): id  3 | task 0 | new prompt, n_ctx_slot = 2048, n_keep = 0, task.n_tokens = 11
slot   operator(): id  3 | task 0 | cached n_tokens = 0, memory_seq_rm [0, end)
slot init_sampler: id  3 | task 0 | init sampler, took N ms, tokens: text = 11, total = 11
slot print_timing: id  3 | task 0 | prompt eval time = N ms /    11 tokens (N ms per token, N tokens per second)
slot print_timing: id  3 | task 0 |        eval time = N ms /     8 tokens (N ms per token, N tokens per second)
slot print_timing: id  3 | task 0 |       total time = N ms /    19 tokens
slot print_timing: id  3 | task 0 |    graphs reused = N
slot      release: id  3 | task 0 | stop processing: n_tokens = 18, truncated = 0
srv  update_slots: all slots are idle
slot get_availabl: id  0 | task -1 |  - skipping, slot is empty
slot get_availabl: id  1 | task -1 |  - skipping, slot is empty
slot get_availabl: id  2 | task -1 |  - skipping, slot is empty
slot get_availabl: id  3 | task -1 |  - checking sim = 0.000 (0/7) > 0.100
slot get_availabl: id  2 | task -1 | selected slot by LRU, t_last = -1
srv  get_availabl: updating prompt cache
srv          load:  - looking for better prompt, base f_keep = -1.000, f_sim = 0.000
srv        update:  - cache state: 0 prompts, 0.000 MiB (limits: 8192.000 MiB, 2048 tokens, 8589934592 est)
srv  get_availabl: prompt cache update took N ms
slot launch_slot_: id  2 | task -1 | sampler chain: logits -> ?penalties -> ?dry -> ?top-n-sigma -> top-k -> ?typical \
-> top-p -> min-p -> ?xtc -> temp-ext -> dist\x20
slot launch_slot_: id  2 | task -1 | sampler params:\x20
\trepeat_last_n = 64, repeat_penalty = 1.000, frequency_penalty = 0.000, presence_penalty = 0.000
\tdry_multiplier = 0.000, dry_base = 1.750, dry_allowed_length = 2, dry_penalty_last_n = 64
\ttop_k = 40, top_p = 0.950, min_p = 0.050, xtc_probability = 0.000, xtc_threshold = 0.100, typical_p = 1.000, \
top_n_sigma = -1.000, temp = 0.000
\tmirostat = 0, mirostat_lr = 0.100, mirostat_ent = 5.000, adaptive_target = -1.000, adaptive_decay = 0.900
slot launch_slot_: id  2 | task 9 | processing task, is_child = 0
slot process_sing: id  0 | task -1 | saving idle slot to prompt cache
slot prompt_clear: id  0 | task -1 | clearing prompt with 0 tokens
slot process_sing: id  1 | task -1 | saving idle slot to prompt cache
slot prompt_clear: id  1 | task -1 | clearing prompt with 0 tokens
slot process_sing: id  3 | task -1 | saving idle slot to prompt cache
srv   prompt_save:  - saving prompt with length 18, total state size = 0.396 MiB (draft: 0.000 MiB)
srv        update:  - cache state: 1 prompts, 0.396 MiB (limits: 8192.000 MiB, 2048 tokens, 371958 est)
srv        update:    - prompt 0xN:      18 tokens, checkpoints:  0,     0.396 MiB
slot prompt_clear: id  3 | task -1 | clearing prompt with 18 tokens
slot   operator(): id  2 | task 9 | new prompt, n_ctx_slot = 2048, n_keep = 0, task.n_tokens = 7
slot   operator(): id  2 | task 9 | cached n_tokens = 0, memory_seq_rm [0, end)
slot init_sampler: id  2 | task 9 | init sampler, took N ms, tokens: text = 7, total = 7
slot print_timing: id  2 | task 9 | prompt eval time = N ms /     7 tokens (N ms per token, N tokens per second)
slot print_timing: id  2 | task 9 |        eval time = N ms /     1 tokens (N ms per token, N tokens per second)
slot print_timing: id  2 | task 9 |       total time = N ms /     8 tokens
slot print_timing: id  2 | task 9 |    graphs reused = N
slot      release: id  2 | task 9 | stop processing: n_tokens = 7, truncated = 0
srv  update_slots: all slots are idle
"""

TIMES = re.compile(r" +[\d.]+( ms| tokens per second)|(?<=reused =) +\d+|(?<=prompt 0x)[0-9a-f]+")


def plain(line: str) -> str:
    """A line without what differs from run to run."""
    line = TIMES.sub(lambda found: " N" + (found.group(1) or "") if "0x" not in found.group(0) else "N", line)
    return line.replace("( N ms per", "(N ms per").replace("prompt 0x N", "prompt 0xN").replace(",  N", ", N")


def test_two_requests_write_the_recorded_lines() -> None:
    desk = Desk(StubModel(kv_shape=KvShape(30, 3, 64, 64)), ctx_size=2048, cache_ram=8192)
    desk.answer(numbered(11), n_predict=8)
    desk.answer(numbered(7, 1), n_predict=1)
    ours = [plain(line) for line in "\n".join(desk.log()).split("\n")]
    theirs = RECORDED.strip("\n").split("\n")
    for our, their in zip(ours, theirs, strict=True):
        assert our == their


def test_a_quiet_level_writes_less() -> None:
    def written(verbosity: int) -> set[str]:
        desk = Desk(parallel=1, ctx_size=256, verbosity=verbosity)
        desk.answer(numbered(9), n_predict=1)
        desk.answer(numbered(9), n_predict=1)
        desk.ask(numbered(300))
        desk.run()
        return {line.level for line in desk.happened(LogLine)}

    assert written(0) == set()
    assert written(1) == {"E"}
    assert written(2) == {"E", "W"}
    assert written(3) == {"E", "W", "I"}
    assert written(5) == {"E", "W", "I"}


def test_a_deferred_task_is_a_debug_line_that_tells_whether_it_wanted_that_slot() -> None:
    desk = Desk(parallel=1, ctx_size=256, verbosity=5)
    desk.post(numbered(5), numbered(5, 1), n_predict=2)
    desk.ask(numbered(5), n_predict=2, id_slot=0)
    desk.run()
    lines = [line.partition("process_sing: ")[2] for line in desk.log(levels="D", containing="defer task")]
    assert lines[:2] == [
        "no slot is available, defer task, id_task = 1",
        "requested slot is unavailable, defer task, id_task = 2",
    ]


def test_a_long_prompt_tells_its_progress_from_three_seconds_on() -> None:
    desk = Desk(parallel=1, ctx_size=1024, batch=100, verbosity=3)
    desk.ask(numbered(1000), n_predict=1)
    for _ in range(10):
        desk.now += 999_000
        desk.step()
    wanted = "prompt processing, n_tokens =    400, progress = 0.40, t =   3.00 s / 133.29 tokens per second"
    lines = desk.log(containing="prompt processing,")
    assert wanted in lines[0]
    assert lines[0].startswith("slot print_timing: id  0 | task 0 | ")
    assert len(lines) == 6


def test_a_long_generation_tells_its_speed_every_three_seconds() -> None:
    desk = Desk(parallel=1, ctx_size=1024, verbosity=3)
    desk.ask(numbered(5), n_predict=200)
    for _ in range(200):
        desk.now += 39_000
        desk.step()
    lines = desk.log(containing="n_gen = ")
    assert len(lines) == 2
    assert "n_gen =    100, tg =  25.00 t/s, tg_3s =  25.25 t/s" in lines[0]
    assert "n_gen =    175, tg =  25.00 t/s, tg_3s =  25.00 t/s" in lines[1]


@pytest.mark.parametrize(("n_around", "before"), [(2, " c"), (9, "the c")])
def test_debugging_shows_where_old_and_new_prompt_part(n_around: int, before: str) -> None:
    desk = Desk(parallel=1, ctx_size=256, slots_debug=True, slots_n_diff=n_around)
    desk.answer("the cat\0s", n_predict=1)
    desk.answer("the cow\0s", n_predict=1)
    lines = [line.split(" | ", 2)[2] for line in desk.log(levels="W")]
    assert lines[:2] == [f"old: ... {before} | at<end>s", f"new: ... {before} | ow<end>s"]
    assert lines[2] == "".join(f"{byte:8d}" for byte in before.encode() + b"at\0s")


def test_the_chain_names_what_is_active_and_in_which_order() -> None:
    desk = Desk(parallel=1, ctx_size=256)
    desk.answer(numbered(5), n_predict=1, repeat_penalty=1.1, top_k=0, samplers=("top_k", "penalties"), ignore_eos=True)
    (line,) = desk.log(containing="sampler chain")
    assert line.endswith("sampler chain: logits -> logit-bias -> ?top-k -> penalties -> dist ")


@pytest.mark.parametrize(
    ("given", "links"),
    [
        ({"repeat_penalty": 1.1}, {"penalties"}),
        ({"frequency_penalty": 0.1}, {"penalties"}),
        ({"presence_penalty": 0.1}, {"penalties"}),
        ({"presence_penalty": 0.1, "repeat_last_n": 0}, {"?penalties"}),
        ({"dry_multiplier": 0.8}, {"dry"}),
        ({"dry_multiplier": 0.8, "dry_base": 1.0}, {"dry"}),
        ({"dry_multiplier": 0.8, "dry_base": 0.9}, {"?dry"}),
        ({"dry_multiplier": 0.8, "dry_penalty_last_n": 0}, {"?dry"}),
        ({"top_n_sigma": 1.0}, {"top-n-sigma"}),
        ({"top_k": 0, "top_p": 1.0, "min_p": 0.0}, {"?top-k", "?top-p", "?min-p"}),
        ({"typical_p": 0.9}, {"typical"}),
        ({"xtc_probability": 0.5}, {"xtc"}),
        ({"xtc_probability": 0.5, "xtc_threshold": 0.6}, {"?xtc"}),
        ({"ignore_eos": True}, {"logit-bias"}),
        ({"samplers": ("top_k", "adaptive_p")}, {"logits", "top-k", "adaptive-p"}),
    ],
)
def test_the_chain_in_the_log_marks_what_does_nothing(given: dict[str, Any], links: set[str]) -> None:
    desk = Desk(parallel=1, ctx_size=256)
    desk.answer("x", n_predict=1, **given)
    (line,) = desk.log(containing="sampler chain: ")
    assert links <= set(line.partition("chain: ")[2].split(" ")), line


@pytest.mark.parametrize(("mirostat", "name"), [(1, "mirostat"), (2, "mirostat-v2")])
def test_mirostat_takes_the_place_of_the_chain_unless_the_greatest_is_taken(mirostat: int, name: str) -> None:
    desk = Desk(parallel=1, ctx_size=256)
    for temperature in (0.8, 0.0):
        desk.answer("x", n_predict=1, mirostat=mirostat, temperature=temperature)
    warm, cold = desk.log(containing="sampler chain: ")
    assert warm.endswith(f"chain: logits -> temp -> {name} ")
    assert cold.endswith("-> temp-ext -> dist ")


def test_children_are_told_in_the_log_when_they_take_over_a_prompt() -> None:
    desk = Desk(parallel=3, ctx_size=768)
    desk.post("x", n_predict=1, n_cmpl=3)
    desk.run()
    assert len(desk.log(containing=": launching slots for parent task id_task = 0 with 2 child tasks")) == 1
    assert len(desk.log(containing="copying state to child")) == 2


def test_that_all_is_idle_is_said_once_and_again_after_each_word_from_outside() -> None:
    desk = Desk(parallel=1, ctx_size=256)
    for n_times in (1, 2):
        desk.answer("x", n_predict=1)
        desk.step(3)
        assert len(desk.log(containing="all slots are idle")) == n_times
    desk.core.cancel(77)
    desk.step(2)
    assert len(desk.log(containing="all slots are idle")) == 3
