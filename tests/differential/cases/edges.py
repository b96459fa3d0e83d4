"""Steps of a prompt, counters while it runs, families, the log."""

from __future__ import annotations

import re

from ..client import Client
from ..scenario import DIFFERS, scenario
from .chat import NO_SYSTEM
from .prompts import each, tokens

LINE = re.compile(r"^\d+\.\d\d\.\d{3}\.\d{3} ([IWED]) (.*)$")
NUMBERS = re.compile(r"\d+\.\d+|(?<=t_last = )\d+|task -?\d+|id_task = \d+|task id = \d+")
WANTED = (
    "slot ",
    "srv    send_error",
    "srv    operator(): got exc",
    "srv  try_clear_id",
    "srv        decode",
    "srv  process_sing",
    "srv    operator(): (CORS)",
    "Wrong type",
    "Removing",
    "common_sampler",
    "state_seq",
    "llama_state_seq",
)

EVERY_3_SECONDS = re.compile(r"\| (n_gen = |prompt processing, )")  # lines of a slow machine


def _log(text: str) -> list[str]:
    """Lines about slots, without times and task ids."""
    lines = [LINE.match(line) for line in text.splitlines()]
    found = [f"{line[1]} {NUMBERS.sub('#', line[2])}" for line in lines if line]
    return [
        re.sub(r" +#", " #", line) for line in found if line[2:].startswith(WANTED) and not EVERY_3_SECONDS.search(line)
    ]


STARTED = ("srv          init: ", "srv    load_model: ", "slot   load_model: ", "srv  llama_server: security")
OTHERS = ("local path", "loading model", "example_format", "using", "checkpoints", "more info", "note: ")


def _start(text: str) -> list[str]:
    """Lines about slots, prompts and templates from the start."""
    lines = [found for found in map(LINE.match, text.splitlines()) if found and found[2].startswith(STARTED)]
    return [f"{line[1]} {line[2]}" for line in lines if not any(other in line[2] for other in OTHERS)]


def _settled(c: Client) -> str:
    """The log once every task has its last line: an answer may be there before the lines about it."""

    def is_written() -> bool:
        n_begun = c.server.log.count("processing task, is_child")
        return c.n_completed <= n_begun == c.server.log.count("stop processing")

    c.until("last lines", is_written)
    return c.server.log


def beginning(flags: str, env: str = "") -> None:
    """One scenario for the lines of a start."""

    @scenario(f"the log of a start: {flags} {env[:30]}", flags, fresh=True, env=env)
    def run(c: Client) -> None:
        c.note("log", _start(c.server.log))


THINKING = "{% for m in messages %}<think>{{ m.reasoning_content }}</think>{{ m.content }}{% endfor %}"
for launch in (
    "-c 512 -np 2 -cram 0",
    "-c 512 -lv 4",
    "-c 512 -np 2 -lv 4 -cram -1",
    "-c 512 -np 2 --reasoning-preserve",
):
    beginning(launch)
beginning("-c 512 -np 2 -lv 4", f"LLAMA_ARG_CHAT_TEMPLATE={THINKING}")
beginning("-c 512 -np 2 --no-reasoning-preserve", f"LLAMA_ARG_CHAT_TEMPLATE={THINKING}")
beginning("-c 512 -np 1", "LLAMA_SERVER_SLOTS_N_DIFF=-3x")


@scenario("the log of a few requests", "-c 512 -np 2", fresh=True)
def log(c: Client) -> None:
    c.complete(tokens(12, 1), 3)
    c.complete(tokens(12, 1), 3)
    c.complete(tokens(300), 3)
    c.complete("", 3)
    c.complete([9999], 3)
    c.complete(tokens(5), 3, repeat_penalty=0)
    c.complete(tokens(10), -1, ignore_eos=True, id_slot=9)
    c.until_idle()
    c.ask("/v1/chat/completions", {})
    c.ask("/detokenize", {"tokens": [5000]})
    c.ask("/completion", {"prompt": 5})
    c.note("log", _log(_settled(c)))


@scenario(
    "what the log remarks about requests",
    "-c 512 -np 2 --cors-origins localhost",
    env=f"LLAMA_ARG_CHAT_TEMPLATE={NO_SYSTEM}",
    fresh=True,
)
def remarked(c: Client) -> None:
    for fields in each(
        {"id_slot": "0"}, {"id_slot": []}, {"response_fields": "content"}, {"response_fields": [5]},
        {"samplers": "zkq"}, {"samplers": ["Top-K", "No-Such", "typical"]}, {"lora": [{"id": "x", "scale": "y"}]},
        {"samplers": ["zz", 5]},
    ):  # fmt: skip
        asked = {"prompt": "A", "n_predict": 1, "temperature": 0, **fields}
        c.ask("/completion", asked, leave_out=("content",), step=f"{fields}")
        c.until_idle()
    for fields in each(
        {"tool_choice": 5}, {"logprobs": "x"}, {"logprobs": True, "top_logprobs": "x"}, {"add_generation_prompt": 1},
        {"parallel_tool_calls": 1}, {"reasoning_effort": 1}, {"response_format": {"type": 1}}, {"grammar": 5},
        {"thinking_budget_tokens": "x"}, {"messages": [{"role": "system", "content": "x"}]},
        {"messages": [{"role": 5, "content": "x"}]}, {"messages": [{"role": "user", "content": [{"type": 5}]}]},
    ):  # fmt: skip
        c.ask("/apply-template", {"messages": [{"role": "user", "content": "Hi"}], **fields}, step=f"{fields}")
    c.ask("/tokenize", {"content": "a", "add_special": 1, "parse_special": "x", "with_pieces": []})
    c.ask("/tokenize", {"with_pieces": []})
    for body in each({"id": 5}, {"id": ""}, {"id": "x", "action": 5}, {"id": "x", "action": "reasoning_end"}):
        c.ask("/v1/chat/completions/control", body)
    for origin in ("http://a.example", "http://localhost:1"):
        c.ask("/health", headers={"Origin": origin}, step=origin)
    c.note("log", [line for line in _log(_settled(c)) if not line.startswith(("I", "W slot"))])


@scenario("the log of actions that fail", "-c 512 -np 2", fresh=True)
def failed_actions(c: Client) -> None:
    c.complete(tokens(20), 2)
    c.ask("/slots/1?action=save", {"filename": "saved"})
    folder = c.server.folder
    saved = (folder / "saved").read_bytes()
    (folder / "other").write_bytes(b"nothing like it")
    (folder / "newer").write_bytes(saved[:4] + b"\x05" + saved[5:])
    (folder / "cut").write_bytes(saved[:8] + b"\xff\xff\0\0" + saved[12:])
    (folder / "odd").write_bytes(saved[:24] + b"\xff\xff\xff\x7f" + saved[28:])
    for name in ("none", "other", "newer", "cut", "odd"):
        c.ask("/slots/1?action=restore", {"filename": name}, step=name)
    (folder / "folder").mkdir()
    c.ask("/slots/1?action=save", {"filename": "folder"})
    for body in each({}, [], {"filename": 5}, {"filename": "a/b"}):
        c.ask("/slots/1?action=save", body, step=f"{body}")
    c.until("last words", lambda: c.server.log.count("got exception") == 3)
    c.note("log", [line.replace(str(folder), "") for line in _log(_settled(c))])


@scenario("the traced log of a few requests", "-c 512 -np 2 -kvu -lv 4", fresh=True)
def traced(c: Client) -> None:
    for seed in (1, 2, 1):
        c.complete(tokens(20 + seed, seed), 3)
    c.complete(tokens(15, 1) + tokens(5, 7), 2, n_cache_reuse=2)
    c.note("log", [line for line in _log(_settled(c)) if "sampler" not in line])


def graphs(flags: str) -> None:
    """One scenario for the log's count of graphs that were used again."""

    @scenario(f"graphs used again: {flags}", flags, fresh=True)
    def run(c: Client) -> None:
        for prompt, n in ((tokens(2), 3), (tokens(100, 1), 180), (tokens(200, 2), 9), ("", 1), (tokens(2), 3)):
            c.complete(prompt, n, ignore_eos=True)
        c.complete([tokens(20, 3), tokens(30, 4), tokens(40, 5)], 5)
        c.complete(tokens(20, 6), 5, n_cmpl=2)
        c.complete(tokens(24, 6), 5, id_slot=0)
        c.complete(tokens(240, 7), 30, ignore_eos=True, n_keep=3)
        c.note("log", _log(_settled(c)))


for launch in (
    "-c 2048 -np 4 --warmup", "-c 2048 -np 2", "-c 2048 -np 3 -kvu -ub 16", "-c 2048 -np 3 -b 64 -ub 16 -cram 0",
    "-c 768 -np 3 --context-shift", "-c 512 -np 2 -kvu --context-shift",
):  # fmt: skip
    graphs(launch)


@scenario("the log of a full pool", "-c 256 -np 3 -kvu -cram 0", fresh=True)
def pool_log(c: Client) -> None:
    c.complete(tokens(110, 0), 10, id_slot=0, ignore_eos=True)
    c.ask(
        "/completion",
        {"prompt": [tokens(60, 1), tokens(60, 2)], "n_predict": 200, "temperature": 0, "ignore_eos": True},
    )
    c.until_idle()
    c.note("log", _log(_settled(c)))


@scenario("the log of a prompt that the pool has no room for", "-c 256 -np 2 -kvu -lv 4", fresh=True)
def store_log(c: Client) -> None:
    c.complete(tokens(250, 1), 1)
    c.complete([tokens(64, 2), tokens(85, 3)], 2)
    c.complete(tokens(70, 1), 1)
    c.complete("", 1)
    c.note("log", [line for line in _log(_settled(c)) if "sampler" not in line])


@scenario("the log of shifts", "-c 256 -np 1 --context-shift", fresh=True)
def shift_log(c: Client) -> None:
    c.complete(tokens(200), 200, ignore_eos=True, leave_out=("content", "tokens"))
    c.note("log", _log(_settled(c)))


@scenario("children sample like their parent", "-c 1024 -np 4", fresh=True)
def children(c: Client) -> None:
    c.complete(tokens(40), 6, n_cmpl=4)
    c.slots()
    c.complete(tokens(40), 6, n_cmpl=2, seed=7)
    c.complete(tokens(40), 6, n_cmpl=2, seed=7, n_probs=2)
    c.ask("/v1/completions", {"prompt": tokens(41), "n": 3, "max_tokens": 4, "temperature": 0, "seed": 9})
    c.slots()
    c.metrics()


@scenario("children of an empty prompt", "-c 1024 -np 4", fresh=True, listed="children-of-nothing")
def no_prompt_children(c: Client) -> None:
    run = c.start("", 3, n_cmpl=2)
    c.until("a parent that ended", lambda: any("id_task" in slot and not slot["is_processing"] for slot in c.look()))
    c.complete(tokens(5), 2)
    c.note(DIFFERS, run.is_over)
    c.note(DIFFERS, [slot["is_processing"] for slot in c.look()])


@scenario("a long prompt in pieces of 128", "-c 4096 -np 2 -b 128 -ub 32", fresh=True)
def pieces(c: Client) -> None:
    c.complete(tokens(900), 3)
    c.slots()
    c.complete(tokens(900) + tokens(200, 4), 3)
    c.metrics()


@scenario("quantized KV", "-c 512 -np 2 -ctk q8_0 -ctv q8_0", fresh=True)
def quantized(c: Client) -> None:
    for seed in range(4):
        c.complete(tokens(30, seed), 4, leave_out=("content", "tokens"))
    c.slots()
    c.metrics()


@scenario("a good request after every kind of bad one")
def after_errors(c: Client) -> None:
    for body in each(
        {"prompt": tokens(400)}, {"prompt": [99999]}, {"prompt": [tokens(5), tokens(400)]}, {"prompt": []},
        {"prompt": "A", "repeat_penalty": 0}, {"prompt": [tokens(5), []]}, {"prompt": None}, {"prompt": ["A", 5]},
        {"prompt": tokens(5), "id_slot": 7}, {"prompt": tokens(5), "n_cmpl": 3},
    ):  # fmt: skip
        c.ask("/completion", {"n_predict": 2, "temperature": 0, **body})
        c.until_idle()
        c.complete(tokens(9, 1), 2)
    c.slots()
