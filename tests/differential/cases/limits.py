"""Lengths: the slot's context, n_predict, context shift, stop conditions."""

from __future__ import annotations

import http.client
from typing import Any

from ..client import Client
from ..scenario import DIFFERS, scenario
from .prompts import each, tokens

SHIFT = "-c 512 -np 2 --context-shift"


@scenario("generation ends where the slot is full", fresh=True)
def until_full(c: Client) -> None:
    c.complete(tokens(7), -1, ignore_eos=True)
    c.slots()
    c.complete(tokens(1, 3), -1, ignore_eos=True)
    c.slots()
    c.metrics()


@scenario("prompts of 254 to 257 tokens in a slot of 256")
def around_the_limit(c: Client) -> None:
    for length in (253, 254, 255, 256, 257, 400):
        c.complete(tokens(length, length), 4, ignore_eos=True)
        c.slots()
    c.complete(tokens(256), 4, stream=True)


@scenario("prompts of 254 to 257 tokens with context shift", SHIFT)
def around_the_limit_shifting(c: Client) -> None:
    for length in (254, 255, 256, 257):
        c.complete(tokens(length, length), 4, ignore_eos=True)
        c.slots()


@scenario("n_predict 0, -1, -2, null, a string, a fraction")
def n_predict(c: Client) -> None:
    for value in each(0, 1, -2, -7, "5", 2.7, True, 3000000000, None, [], {}):
        c.ask("/completion", {"prompt": tokens(9), "n_predict": value, "temperature": 0}, step=f"n_predict {value}")
    c.ask("/completion", {"prompt": tokens(5), "max_tokens": 3, "temperature": 0})
    c.ask("/completion", {"prompt": tokens(5), "max_completion_tokens": -3, "temperature": 0})
    c.slots()


@scenario("-n is the default and what -1 means", "-c 512 -np 2 -n 5")
def default_n_predict(c: Client) -> None:
    c.complete(tokens(5), -1)
    c.complete(tokens(5), 8)
    c.ask("/completion", {"prompt": tokens(5), "temperature": 0})
    c.slots()
    c.ask("/props")


@scenario("-n -2 and -n 0 end after the first token", "-c 512 -np 1 -n -2")
def strange_default(c: Client) -> None:
    c.ask("/completion", {"prompt": tokens(5), "temperature": 0})
    c.slots()


@scenario("context shift: n_keep and n_discard", SHIFT)
def shifts(c: Client) -> None:
    for keep, discard in ((0, 0), (10, 0), (-1, 7), (-1, 0), (254, 0), (1000, 0), (100, 1000)):
        c.complete(
            tokens(200, keep), 150, n_keep=keep, n_discard=discard, ignore_eos=True, cache_prompt=False,
            leave_out=("content", "tokens"),
        )  # fmt: skip
        c.slots()


@scenario("a shifted slot is reused by what it still holds", SHIFT)
def shifted_reuse(c: Client) -> None:
    bias: dict[str, Any] = {"logit_bias": [[400, 100]]}
    first = c.complete(tokens(201), 150, n_keep=10, ignore_eos=True, **bias)
    assert first["truncated"]
    c.complete(tokens(10) + tokens(201)[132:160], 3, **bias)
    c.slots()


@scenario("--keep is the default of n_keep", "-c 512 -np 1 --context-shift --keep 20 -b 64")
def default_keep(c: Client) -> None:
    c.complete(tokens(300), 400, ignore_eos=True, leave_out=("content", "tokens"))
    c.slots()


@scenario("order of stop conditions")
def stops(c: Client) -> None:
    whole = c.complete("A slot is", 12)
    content = str(whole["content"])
    word = content.split()[1]
    c.complete("A slot is", 12, stop=[word])
    c.complete("A slot is", 12, stop=[word[:2]])
    c.complete("A slot is", 12, stop=["zzz", word[1:3], word])
    c.complete("A slot is", 3, stop=[content[len(content) // 4 :][:3]])
    for amount in range(1, 8):
        c.complete("A slot is", amount, stop=[word], return_tokens=True)
    c.complete("A slot is", 12, stop=[""])
    c.complete("A slot is", 12, stop=["", "x"])
    c.complete("A slot is", 12, stop=[None, [], {}])
    c.complete("A slot is", 12, stop=[5])
    c.complete("A slot is", 12, stop=word)
    c.complete("A slot is", 12, stop=7)
    c.slots()


@scenario("stop words that never come hold text back")
def held_back(c: Client) -> None:
    whole = str(c.complete("A slot is", 12)["content"])
    c.complete("A slot is", 12, stop=[whole[3:8] + "#"])
    c.complete("A slot is", 12, stop=[whole + "#"])


@scenario("a stop word when the context is full, at the limit, and end of text", "-c 256 -np 1")
def last_tokens(c: Client) -> None:
    bias: dict[str, Any] = {"logit_bias": [["x", 100.0]]}
    c.complete(tokens(250), -1, stop=["xxxxxx"], **bias)
    c.complete(tokens(250), 6, stop=["xxxxxx"], **bias)
    c.complete(tokens(250), 5, stop=["xxxxx"], **bias)
    for prompt in (250, 255):
        c.complete(tokens(prompt), -1, logit_bias=[[2, 200.0]])
        c.complete(tokens(prompt), 1, logit_bias=[[2, 200.0]])
    c.complete(tokens(20), 9, logit_bias=[[2, 200.0]], ignore_eos=True)
    c.slots()


@scenario("reverse prompt of the command line", "-c 512 -np 1 -r e -r the")
def reverse_prompt(c: Client) -> None:
    c.complete("A slot is", 20)
    c.complete("A slot is", 20, stop=[])
    c.complete("A slot is", 20, stop=["place"])


@scenario("n_indent and newlines")
def indent(c: Client) -> None:
    newline: dict[str, Any] = {"logit_bias": [["\n", 100.0]]}
    for amount in (0, 1, 2, 4):
        c.complete("A slot is", 12, n_indent=amount)
        c.complete("A slot is", 12, n_indent=amount, **newline)
        c.complete("def f():\n    return", 12, n_indent=amount)
    c.complete("A slot is", 12, t_max_predict_ms=0, **newline)
    c.slots()


@scenario("stop words at every border of tokens")
def borders(c: Client) -> None:
    whole = str(c.complete("A slot is", 16, ignore_eos=True)["content"])
    for start in range(0, 12, 2):
        for length in (1, 2, 5):
            word = whole[start : start + length]
            c.complete("A slot is", 12, stop=[word], n_probs=1, step=f"{word!r}")
            c.complete("A slot is", 12, stop=[word], stream=True, step=f"{word!r} in a stream")
    for stop in each(
        [whole[4:9], whole[2:7]], [whole[2:7], whole[4:9]], [whole[3:6], whole[3:8]], [whole[3:8], whole[3:6]],
        ["x"] * 200, ["a" * 5000], ["<|im_end|>"], ["\x00"], ["\ufffd"], [{"a": 1}], [["a"]], True, {"a": "b"},
    ):  # fmt: skip
        c.complete("A slot is", 8, stop=stop, step=f"{stop!r}"[:80])


def shift(c: Client) -> None:
    body = {"prompt": tokens(200), "n_predict": 60, "ignore_eos": True}
    try:
        c.note(DIFFERS, c.fetch("/completion", body)[0])
    except http.client.HTTPException:
        c.note(DIFFERS, "no answer")


for kind in ("bf16", "q8_0"):
    flags = f"-c 256 -np 1 --context-shift -ctk {kind}"
    scenario(f"a shift of K in {kind}", flags, fresh=True, listed="ends-the-process")(shift)
