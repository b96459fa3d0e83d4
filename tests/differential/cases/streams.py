"""Event streams."""

from __future__ import annotations

import json

from ..client import Client
from ..scenario import DIFFERS, scenario
from .prompts import each, tokens


@scenario("native stream")
def native(c: Client) -> None:
    c.complete("A slot is", 8, stream=True)
    c.complete("A slot is", 8, stream=True, timings_per_token=True)
    c.complete("A slot is", 8, stream=True, return_tokens=True, response_fields=["content", "timings/cache_n", "no"])
    c.slots()


@scenario("progress of a prompt", "-c 2048 -np 2 -b 64 -ub 64", fresh=True)
def progress(c: Client) -> None:
    c.complete(tokens(300), 3, stream=True, return_progress=True)
    c.complete(tokens(300), 3, stream=True, return_progress=True, timings_per_token=True)
    c.complete(tokens(290), 3, stream=True, return_progress=True, n_probs=2)
    c.ask(
        "/v1/completions",
        {"prompt": tokens(200, 2), "max_tokens": 2, "stream": True, "return_progress": True, "temperature": 0},
    )
    message = {"role": "user", "content": "word " * 150}
    c.ask(
        "/v1/chat/completions",
        {"messages": [message], "max_tokens": 2, "stream": True, "return_progress": True, "temperature": 0},
    )


@scenario("several prompts in one stream", "-c 1024 -np 4", fresh=True)
def several(c: Client) -> None:
    prompts = [tokens(6, n) for n in range(3)]
    c.complete(prompts, 3, stream=True)
    c.ask("/v1/completions", {"prompt": prompts, "max_tokens": 3, "stream": True, "temperature": 0})
    c.complete(prompts[0], 3, stream=True, n_cmpl=2)
    c.ask("/v1/completions", {"prompt": prompts[0], "n": 2, "max_tokens": 3, "stream": True, "temperature": 0})
    c.complete(prompts, 3, stream=True, return_progress=True)


@scenario("a stop word holds text back in a stream")
def held_back(c: Client) -> None:
    whole = str(c.complete("A slot is", 12)["content"])
    for stop in (whole.split()[1], whole[3:9], whole[2:6] + "#"):
        c.complete("A slot is", 12, stream=True, stop=[stop])


@scenario("text held back at a limit is not lost", listed="held-text-in-stream")
def lost_text(c: Client) -> None:
    whole = str(c.complete("A slot is", 12)["content"])
    c.complete("A slot is", 12, stream=True, stop=[whole[2:] + "#"], step=DIFFERS)


@scenario("errors of a stream are plain answers")
def errors(c: Client) -> None:
    c.complete(tokens(300), 4, stream=True)
    c.ask("/v1/completions", {"prompt": tokens(300), "stream": True})
    c.ask("/v1/chat/completions", {"messages": [{"role": "user", "content": "word " * 400}], "stream": True})
    c.complete(tokens(5), 4, stream=True, repeat_penalty=0)
    c.complete([5000], 4, stream=True)


@scenario("a finished stream closes its connection", listed="stream-connection-header")
def closing(c: Client) -> None:
    c.note(DIFFERS, c.fetch("/completion", {"prompt": "A", "n_predict": 1, "stream": True})[1])


@scenario("probabilities", "-c 512 -np 2")
def probabilities(c: Client) -> None:
    for fields in each({"n_probs": 3}, {"n_probs": 3, "post_sampling_probs": True}, {"n_probs": 1, "stream": True}):
        c.complete("A slot is", 4, **fields)
    c.complete("A slot is", 4, n_probs=2, logit_bias=[[5, False]])
    c.complete("A slot is", 8, n_probs=2, stop=["place"])
    c.complete("A slot is", 8, n_probs=2, stop=["place"], stream=True)
    c.ask("/v1/completions", {"prompt": "A slot is", "max_tokens": 3, "logprobs": 2, "temperature": 0})
    c.ask("/v1/completions", {"prompt": "A slot is", "max_tokens": 3, "logprobs": 2, "temperature": 0, "stream": True})


@scenario("the probability of every token")
def every_probability(c: Client) -> None:
    for token in ([], [400]):
        body = {"prompt": "A slot is", "n_predict": 1, "temperature": 0, "n_probs": 5000, "logit_bias": [[300, 1]]}
        answer = json.loads(c.fetch("/completion", {**body, "prompt": [300, *token]})[2])
        top = answer["completion_probabilities"][0]["top_logprobs"]
        c.note("texts", [[one["token"], one["bytes"]] for one in sorted(top, key=lambda one: int(one["id"]))])


@scenario("characters of several tokens")
def characters(c: Client) -> None:
    pieces = c.ask("/tokenize", {"content": "日本語 é 👩‍👩‍👧", "with_pieces": True})
    assert isinstance(pieces, dict)
    first = pieces["tokens"][0]["id"]
    c.complete("A", 5, logit_bias=[[first, 100]], n_probs=1)
    for length in (1, 2, 4):
        for text in ("A", "日"):
            chat = {"messages": [{"role": "user", "content": text}], "max_tokens": length, "temperature": 0}
            c.ask("/v1/chat/completions", {**chat, "logit_bias": [[first, 100]], "stream": length == 1})
            c.ask("/v1/chat/completions", {**chat, "logit_bias": [[first, 100]]})
            broken = {"logit_bias": [[235, 60], [255, 60], [174, 60]], "frequency_penalty": 2, "ignore_eos": True}
            c.ask("/v1/chat/completions", {**chat, **broken, "max_tokens": length + 2})
    for token in range(130, 260, 13):
        c.complete("A", 3, logit_bias=[[token, 100]])
    c.complete("日本語", 3)


@scenario("every option of OpenAI's two routes, as a stream and at once")
def openai_options(c: Client) -> None:
    chat = {"messages": [{"role": "user", "content": "What is a slot?"}], "logprobs": True, "top_logprobs": 2}
    text = {"prompt": "A slot is", "logprobs": 2}
    options = each(
        {}, {"stream_options": {"include_usage": True}}, {"n": 2, "seed": 3}, {"timings_per_token": True},
        {"return_progress": True}, {"max_tokens": 0}, {"stop": ["a"]}, {"return_tokens": True},
        {"stream_options": {"include_usage": True}, "n": 2}, {"post_sampling_probs": True},
        {"max_completion_tokens": 2, "max_tokens": 5}, {"verbose": True}, {"echo": True}, {"user": "x", "metadata": {}},
    )  # fmt: skip
    for path, asked in (("/v1/chat/completions", chat), ("/v1/completions", text)):
        for option in options:
            for stream in (False, True):
                body = {"max_tokens": 4, "temperature": 0, **asked, **option, "stream": stream}
                c.ask(path, body, step=f"{path} {option} {stream}")


@scenario("stop strings that are long, nearly right, or begin alike")
def long_stops(c: Client) -> None:
    whole = str(c.complete("A slot is", 40)["content"])
    for k in (1, 20):
        part, rest = whole[k : k + 30], whole[k:]
        for stop in ([part], [f"{part}#"], [f"{rest}zz"], [whole[:k]], [rest[:3], rest[:2]], [rest[:2], rest[:3]]):
            for stream in (False, True):
                c.complete("A slot is", 40, stop=stop, stream=stream, n_probs=1)
