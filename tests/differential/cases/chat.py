"""OpenAI's routes and the chat template."""

from __future__ import annotations

from ..client import Client
from ..scenario import scenario
from .prompts import each, tokens

USER = {"role": "user", "content": "What is a slot?"}
SHORT: dict[str, object] = {"max_tokens": 6, "temperature": 0}


@scenario("text completions in OpenAI's shape")
def text(c: Client) -> None:
    base: dict[str, object] = {"prompt": "A slot is", **SHORT}
    for extra in (
        {}, {"stream": True}, {"stream": True, "stream_options": {"include_usage": True}}, {"n": 2, "seed": 5},
        {"echo": True}, {"echo": "yes"}, {"best_of": 3, "suffix": "x"}, {"verbose": True},
        {"stream": True, "timings_per_token": True}, {"stop": ["place"]}, {"stop": ["place"], "stream": True},
        {"verbose": True, "stream": True}, {"prompt": ["A", "B"]}, {"logprobs": 1, "n": 2},
    ):  # fmt: skip
        c.ask("/v1/completions", base | extra, step=f"{extra}")
    c.slots()


@scenario("chat completions")
def chat(c: Client) -> None:
    base: dict[str, object] = {"messages": [USER], **SHORT}
    for extra in (
        {}, {"stream": True}, {"stream": True, "stream_options": {"include_usage": True}}, {"n": 2},
        {"n": 2, "stream": True}, {"logprobs": True}, {"logprobs": True, "top_logprobs": 2},
        {"logprobs": True, "top_logprobs": 2, "stream": True}, {"top_logprobs": 2}, {"verbose": True},
        {"verbose": True, "stream": True}, {"stream": True, "timings_per_token": True}, {"max_tokens": 0},
        {"add_generation_prompt": False}, {"stop": ["slot"]}, {"stop": ["slot"], "stream": True},
        {"max_completion_tokens": 2}, {"logit_bias": {"2": 100}, "stream": True}, {"logit_bias": {"2": 100}},
    ):  # fmt: skip
        c.ask("/v1/chat/completions", base | extra, step=f"{extra}")
    c.ask("/chat/completions", base)
    c.slots()


@scenario("messages")
def messages(c: Client) -> None:
    answer = {"role": "assistant", "content": "A slot"}
    for given in each(
        [], [{"role": "system", "content": "Be kind."}, USER], [USER, answer], [USER, answer, USER],
        [USER, answer, answer], [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text",
        "text": "b"}]}],
        [{"role": "user", "content": None}], [{"role": "user"}], [{"content": "a"}], [{"role": "assistant"}],
        [{"role": "user", "content": 5}], [{"role": "user", "content": [{"type": "x"}]}], "text", None, {}, [5],
        [{"role": "tool", "content": "x"}], [{"role": 5, "content": "x"}], [answer],
        [USER, {"role": "assistant", "content": ""}],
    ):  # fmt: skip
        c.ask("/apply-template", {"messages": given}, step=f"template {given}")
        c.ask("/v1/chat/completions", {"messages": given, **SHORT}, step=f"chat {given}")
        c.ask("/v1/chat/completions/input_tokens", {"messages": given}, step=f"count {given}")
    c.ask("/apply-template", {})
    c.ask("/v1/chat/completions", {})
    c.ask("/v1/chat/completions", {"messages": [USER, answer], "stream": True, **SHORT})
    c.ask("/apply-template", {"messages": [USER], "add_generation_prompt": False})


@scenario("tokenize and detokenize")
def tokenizing(c: Client) -> None:
    texts = (
        "", " ", "Hello, world!", "  two  spaces\n\n\tand tabs", "it's don't WE'RE 12345 3.14", "日本語", "e\u0301",
        "<|im_start|>user\nhi<|im_end|>", "<|endoftext|>", "👩‍👩‍👧", "\x00\x07\x7f", "a" * 300, "\u00a0\u2003x",
        "ÀÉÎõü",
        "slot_id=7;n_ctx->256", "\r\n\r\n", "1\u00bd\u0663", "\ud7ff\ue000\U0010ffff",
    )  # fmt: skip
    for text in texts:
        for extra in ({}, {"with_pieces": True}, {"parse_special": False}, {"add_special": True}):
            c.ask("/tokenize", {"content": text, **extra}, step=f"{text!r} {extra}")
    for content in each(5, None, {}, [], ["a", 5, "b"], ["a", None], [1.5], [[1]], True):
        c.ask("/tokenize", {"content": content}, step=f"tokenize {content!r}")
    c.ask("/tokenize", {})
    c.ask("/tokenize", {"content": "a", "with_pieces": 1, "add_special": "x"})
    for given in each(
        [],
        [300, 301],
        [2, 1, 0],
        [1023],
        [1024],
        [-1],
        [1.7],
        "x",
        None,
        {},
        ["a"],
        [None],
        [True],
        tokens(300),
    ):
        c.ask("/detokenize", {"tokens": given}, step=f"detokenize {given}")
    c.ask("/detokenize", {})
    for token in range(0, 1024, 31):
        c.ask("/detokenize", {"tokens": [token, token]})


@scenario("control of a reasoning model")
def control(c: Client) -> None:
    for body in each(
        {}, {"id": "x"}, {"id": "x", "action": "stop"}, {"id": "x", "action": "reasoning_end"}, {"id": 5}, []
    ):
        c.ask("/v1/chat/completions/control", body, step=f"{body}")


@scenario("names of the model", "-c 512 -np 1 --alias zebra,ant")
def aliases(c: Client) -> None:
    c.ask("/v1/models")
    c.ask("/models")
    c.ask("/props")
    c.complete("A", 1)
    c.ask("/v1/completions", {"prompt": "A", "max_tokens": 1, "model": "other", "temperature": 0})
