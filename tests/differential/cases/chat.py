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
    for extra in each(
        {}, {"stream": True}, {"stream": True, "stream_options": {"include_usage": True}}, {"n": 2, "seed": 5},
        {"echo": True}, {"echo": "yes"}, {"best_of": 3, "suffix": "x"}, {"verbose": True},
        {"stream": True, "timings_per_token": True}, {"stop": ["place"]}, {"stop": ["place"], "stream": True},
        {"verbose": True, "stream": True}, {"prompt": ["A", "B"]}, {"logprobs": 1, "n": 2},
        {"verbose": True, "stream": True, "return_progress": True, "timings_per_token": True},
        {"verbose": True, "response_fields": ["content", "timings/cache_n"]},
        {"logprobs": 2, "post_sampling_probs": True, "stream": True}, {"prompt": "", "logprobs": 2},
    ):  # fmt: skip
        c.ask("/v1/completions", base | extra, step=f"{extra}")
    c.slots()


@scenario("chat completions")
def chat(c: Client) -> None:
    base: dict[str, object] = {"messages": [USER], **SHORT}
    for extra in each(
        {}, {"stream": True}, {"stream": True, "stream_options": {"include_usage": True}}, {"n": 2},
        {"n": 2, "stream": True}, {"logprobs": True}, {"logprobs": True, "top_logprobs": 2},
        {"logprobs": True, "top_logprobs": 2, "stream": True}, {"top_logprobs": 2}, {"verbose": True},
        {"verbose": True, "stream": True}, {"stream": True, "timings_per_token": True}, {"max_tokens": 0},
        {"add_generation_prompt": False}, {"stop": ["slot"]}, {"stop": ["slot"], "stream": True},
        {"max_completion_tokens": 2}, {"logit_bias": {"2": 100}, "stream": True}, {"logit_bias": {"2": 100}},
        {"logprobs": True, "post_sampling_probs": True, "stream": True}, {"logprobs": 1}, {"logprobs": "x"},
        {"logprobs": True, "top_logprobs": "x"}, {"logprobs": False, "top_logprobs": 2}, {"top_logprobs": None},
        {"add_generation_prompt": False, "verbose": True}, {"continue_final_message": True}, {"echo": "x"},
        {"continue_final_message": True, "add_generation_prompt": False, "verbose": True},
        {"response_format": {"type": "text"}}, {"response_format": {"type": 5}}, {"response_format": {"type": "x"}},
        {"tools": 5}, {"tools": {}}, {"tools": []}, {"tool_choice": "x"}, {"tool_choice": "none"}, {"tool_choice": 5},
        {"chat_template_kwargs": {"enable_thinking": "x"}}, {"chat_template_kwargs": 5}, {"reasoning_effort": "none"},
        {"reasoning_format": "x"}, {"reasoning_format": 5}, {"reasoning_format": "none", "verbose": True},
        {"chat_format": 0, "grammar_lazy": True, "generation_prompt": "x", "verbose": True},
        {"response_fields": ["content"], "verbose": True, "stream": True},
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
        [{"role": "user", "content": [{"type": "text"}]}], [{"role": "user", "content": [{"type": "text", "text": 5}]}],
        [{"role": "user", "content": [{"type": "text", "text": ""}, {"type": "text", "text": "b"}]}],
        [{"role": "user", "content": [{"type": "image_url"}]}], [{"role": "user", "content": [5]}], [{}],
        [{"role": "user", "content": "x", "name": 5}], [{"role": "developer", "content": "Be kind."}, USER],
        [USER, {"role": "tool", "content": "x", "tool_call_id": 5}],
        [USER, {"role": "assistant", "content": None, "tool_calls": []}],
        [USER, {"role": "assistant", "content": "x", "tool_calls": 5}, USER],
        [USER, {"role": "assistant", "content": "x", "reasoning_content": 5}],
        [USER, {"role": "assistant", "content": "x", "tool_calls": [{"type": "function"}]}],
        [USER, {"role": "assistant", "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": {}}}]}],
        [USER, {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}],
    ):  # fmt: skip
        c.ask("/apply-template", {"messages": given}, step=f"template {given}")
        c.ask("/v1/chat/completions", {"messages": given, **SHORT}, step=f"chat {given}")
        c.ask("/v1/chat/completions/input_tokens", {"messages": given}, step=f"count {given}")
    c.ask("/apply-template", {})
    c.ask("/v1/chat/completions", {})
    c.ask("/v1/chat/completions", {"messages": [USER, answer], "stream": True, **SHORT})
    c.ask("/apply-template", {"messages": [USER], "add_generation_prompt": False})
    for fields in each({"top_logprobs": 5}, {"response_format": {"type": "json_object"}}, {"n": 99}, {"stop": 5}):
        c.ask("/apply-template", {"messages": [USER], **fields}, step=f"template {fields}")
        c.ask("/v1/chat/completions/input_tokens", {"messages": [USER], **fields}, step=f"count {fields}")


TOOL = {"type": "function", "function": {"name": "f"}}


@scenario("fields that a chat takes otherwise than a completion", "-c 1024 -np 2", fresh=True)
def chat_fields(c: Client) -> None:
    for fields in each(
        {"max_tokens": None, "n_predict": 2}, {"max_tokens": -1, "n_predict": 3}, {"stop": None}, {"stop": {}},
        {"stop": [None]}, {"stop": ["e", 5]}, {"grammar": "x", "json_schema": {}}, {"response_format": None},
        {"response_format": "x"}, {"response_format": {}}, {"tools": [5]}, {"tools": [{}]}, {"tools": [{"type": "x"}]},
        {"tools": [{"type": "function"}]}, {"tools": [{**TOOL, "function": {}}]}, {"tools": [{**TOOL, "function": 5}]},
        {"tools": [{**TOOL, "function": {"name": 5}}]},
        {"tools": [{**TOOL, "function": {"name": "f", "description": 5}}]},
        {"tool_choice": {"type": "function"}}, {"add_generation_prompt": None}, {"add_generation_prompt": 0},
        {"continue_final_message": 1}, {"continue_final_message": "x"}, {"continue_final_message": "content"},
        {"reasoning_effort": 5}, {"reasoning_budget_tokens": -5}, {"chat_template_kwargs": []},
        {"chat_template_kwargs": {"enable_thinking": 5}}, {"logprobs": []}, {"logprobs": True, "top_logprobs": -1},
        {"logprobs": True, "n_probs": 1}, {"top_logprobs": 0}, {"n_probs": 1}, {"prompt": 5}, {"chat_parser": "x"},
        {"preserved_tokens": ["<|im_end|>"]}, {"grammar_triggers": [{}]}, {"generation_prompt": 5}, {"stream": 1},
        {"stream_options": {"include_usage": True}}, {"model": 5}, {"n": "2"}, {"response_fields": ["choices"]},
    ):  # fmt: skip
        body = {"messages": [USER], "max_tokens": 4, "temperature": 0, "verbose": True, **fields}
        c.ask("/v1/chat/completions", body, step=f"{fields}")
        c.ask("/apply-template", body, step=f"template {fields}")


@scenario("an answer that goes on", "-c 1024 -np 2", fresh=True)
def going_on(c: Client) -> None:
    answer = {"role": "assistant", "content": "A slot"}
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    for messages in each(
        [USER], [], [USER, answer], [answer], [USER, {**answer, "content": parts}], [USER, {**answer, "content": None}],
        [USER, {**answer, "content": "", "name": "n"}], [USER, {**answer, "content": "", "reasoning_content": "r"}],
    ):  # fmt: skip
        for told in each({}, *({"continue_final_message": told} for told in (True, "content", "reasoning_content"))):
            for more in each({}, {"stream": True}, {"stream": True, "echo": True}):
                body = {"messages": messages, "add_generation_prompt": False, **told, **more, **SHORT}
                c.ask("/v1/chat/completions", body, step=f"{messages} {told} {more}")


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
    for content in each(
        5, None, {}, [], ["a", 5, "b"], ["a", None], [1.5], [[1]], True, [True, "a"], [-1], [5000000000], [1e300]
    ):  # fmt: skip
        c.ask("/tokenize", {"content": content}, step=f"tokenize {content!r}")
    c.ask("/tokenize", {})
    c.ask("/tokenize", {"content": "a", "with_pieces": 1, "add_special": "x"})
    for piece in (-1, 1023, 1024):
        c.ask("/tokenize", {"content": ["a", piece], "with_pieces": True}, step=f"piece of {piece}")
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
        [2**31],
        [2**32 + 300],
        [2**63],
        [1e300],
        [5000, "a"],
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


NO_SYSTEM = (
    "{% for m in messages %}{% if m.role == 'user' %}u:{{ m.content }};"
    "{% elif m.role == 'assistant' %}a:{{ m.content }};"
    "{% endif %}{% endfor %}"
)


@scenario("a template that knows no system", "-c 512 -np 1", env=f"LLAMA_ARG_CHAT_TEMPLATE={NO_SYSTEM}")
def no_system(c: Client) -> None:
    system, user, parts = (
        {"role": "system", "content": "S"},
        {"role": "user", "content": "U"},
        {"role": "user", "content": [{"type": "text", "text": "x"}]},
    )
    for messages in ([system], [system, user], [system, system, user], [user, system], [system, parts]):
        c.ask("/apply-template", {"messages": messages})
    c.ask("/v1/chat/completions", {"messages": [system, user], "max_tokens": 3, "temperature": 0})
    c.ask("/props")
