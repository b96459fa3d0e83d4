"""Bodies that are wrong, fields of wrong types, prompts of every shape."""

from __future__ import annotations

from itertools import combinations

from ..client import Client
from ..scenario import DIFFERS, scenario
from .prompts import each, tokens

BROKEN = (
    b"", b"{", b"{no}", b"[]", b"5", b'"text"', b"null", b"true", b'{"prompt":"a"} x', b'{"prompt":NaN}',
    b'{"prompt":"\\ud800"}',
    b'{"prompt":"\xff"}', b'\xef\xbb\xbf{"prompt":"a","n_predict":1,"temperature":0}', b'{"prompt":1e999}',
    b'{"prompt":"a",}',
    b'{"prompt":"b","prompt":"a","n_predict":1,"temperature":0}', b"\x00", b'{"a":' * 200 + b"1" + b"}" * 200, b"'a'",
    b'{"prompt":"a" /* x */}', b'{"prompt":"a\n"}', b'{"prompt":01}', b'{"prompt":"\\x"}', b"  ", b'{"prompt":"a\t"}',
    b'{"content":"a"}\0 more', b'{"content":"a\0"}', b'{"content":"a","x":"\\udc00","x":1}', b'\0{"content":"a"}',
    b'{"content":"\\ud83d\\ude00\\\\ud800"}', b'{"content":"\\uD83D\\uDE00\\uD83D"}',
    b'{"prompt":+1}', b'{"prompt":.5}', b'{"prompt":1.}', b'{"prompt":-}', b'{"prompt":Infinity}',
)  # fmt: skip


@scenario("bodies that are not JSON objects")
def broken(c: Client) -> None:
    for body in BROKEN:
        for path in (
            "/completion",
            "/v1/completions",
            "/v1/chat/completions",
            "/tokenize",
            "/detokenize",
            "/apply-template",
        ):
            c.ask(path, body, method="POST", step=f"{path} {body[:40]!r}")
    c.ask("/completion", method="POST")


@scenario("bodies of other kinds")
def kinds(c: Client) -> None:
    form = b'--B\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n--B--\r\n'
    heads = {"Content-Type": "multipart/form-data; boundary=B"}
    c.ask("/tokenize", form % (b"content", b"ab"), headers=heads)
    c.ask("/completion", form % (b"n_predict", b"1"), headers=heads, step="no prompt")
    c.ask("/tokenize", b'{"content":"ab"}', headers={"Content-Type": "text/plain"})
    size = 100 * 1024 * 1024 + 1
    c.raw(f"POST /completion HTTP/1.1\r\nHost: x\r\nContent-Length: {size}\r\n\r\n".encode() + b"x" * size)


@scenario("a body nested deeper than anybody needs", listed="deep-json")
def deep(c: Client) -> None:
    body = b'{"content":"a","x":' + b"[" * 10_000 + b"]" * 10_000 + b"}"
    c.note(DIFFERS, c.fetch("/tokenize", body)[0])


@scenario("shapes of prompts")
def prompts(c: Client) -> None:
    shapes: tuple[object, ...] = (
        "a", ["a"], ["a", "b"], [300, 301], ["a", 300], [300, "a"], ["a", "b", 300], [[300], [301]], [["a", 300],
        "b"],
        [], [[]], [[], "a"], 5, None, True, {}, {"prompt_string": "a"}, [{"prompt_string": "a"}, "b"],
        {"prompt_string": ["a", 300]},
        {"prompt_string": 5}, [1.5], ["a", 1.5], ["a", None], [None], [True], [[True]], {"x": 1}, [{"x": 1}], "",
        [""],
        {"prompt_string": "a", "multimodal_data": []}, [[["a"]]], ["a", ["b"]], ["a", [300, 301]],
        [2**31], [2**32 + 300], [2**63 + 300], [2**64 - 1], [300 - 2**32], [2**64], ["a", 2**32 + 300], [-1], [1024],
    )  # fmt: skip
    for shape in shapes:
        c.ask("/completion", {"prompt": shape, "n_predict": 2, "temperature": 0}, step=f"{shape!r}")
    c.ask("/completion", {"n_predict": 2})


@scenario("a prompt is shown without the blanks before marks")
def blanks(c: Client) -> None:
    for prompt in (" ?", "a ' b", "a ' ' b", "It 's , we 've . 't 'll 'm 're ' s", "x  !  .  '  ' ,", " ' ", "'s 's"):
        c.ask("/completion", {"prompt": prompt, "n_predict": 1, "temperature": 0}, step=prompt)
        c.ask("/v1/completions", {"prompt": prompt, "max_tokens": 1, "temperature": 0, "verbose": True}, step=prompt)


NUMBERS = (
    "n_predict", "n_keep", "n_discard", "n_indent", "t_max_predict_ms", "n_cmpl", "n", "n_cache_reuse", "id_slot",
    "temperature",
    "dynatemp_range", "top_k", "top_p", "min_p", "typical_p", "top_n_sigma", "xtc_probability", "xtc_threshold",
    "repeat_last_n",
    "repeat_penalty", "frequency_penalty", "presence_penalty", "dry_multiplier", "dry_base", "dry_allowed_length",
    "dry_penalty_last_n", "mirostat", "mirostat_tau", "mirostat_eta", "adaptive_target", "adaptive_decay", "seed",
    "n_probs",
    "logprobs", "min_keep", "sse_ping_interval", "max_tokens", "dynatemp_exponent",
)  # fmt: skip
FLAGS = (
    "stream", "cache_prompt", "return_tokens", "return_progress", "timings_per_token", "post_sampling_probs",
    "ignore_eos", "verbose",
)  # fmt: skip
VALUES: tuple[object, ...] = (
    -1,
    0,
    1,
    -0.5,
    2.7,
    -3,
    True,
    False,
    None,
    "1",
    [],
    {},
    3000000000,
    4294967296,
    -3000000000,
    1e30,
    1e39,
    -1e308,
)


def _try(c: Client, name: str, value: object) -> None:
    """One field; what it does to the text is left out."""
    body = {"prompt": [300, 301], "n_predict": 1, "temperature": 0, name: value}
    left_out = (
        "content",
        "tokens",
        "completion_probabilities",
        "tokens_cached",
        "stop_type",
        "truncated",
        "tokens_predicted",
        "predicted_n",
    )
    c.ask("/completion", body, leave_out=left_out, step=f"{name} {value!r}")


def numbers(names: tuple[str, ...]) -> None:
    """One scenario for a few fields."""

    @scenario(f"values of {', '.join(names)}", "-c 512 -np 1 -n 2")
    def run(c: Client) -> None:
        for name in names:
            for value in VALUES:
                _try(c, name, value)


for start in range(0, len(NUMBERS), 8):
    numbers(NUMBERS[start : start + 8])
numbers(FLAGS)


@scenario("fields of other types")
def others(c: Client) -> None:
    base: dict[str, object] = {"prompt": [300, 301], "n_predict": 1, "temperature": 0}
    fields: tuple[tuple[str, tuple[object, ...]], ...] = (
        ("samplers", ("", "kpt", "edskypmxt", "zq", [], ["top_k", "TOP-P", "temp", "typ", "nucleus", "x", 5], 5,
        None, {}, ["min-p", "minp"], ["top_k", "top_k"], ["typical", "typ-p", "typical_p"],
        ["top-n_sigma", "topnsigma"], ["infill", "ADAPTIVE-P"], "kK k", [""])),
        ("logit_bias", ([[5, 1]], [[5, False]], [[5, True]], [["place", -1]], {"5": 2}, {"place": False}, [[5000,
        1], [-1, 1]], [5], [[5]], "x", 5, None, {"5": "x"}, [[5, 1], [5, 2]], [[5.5, 1]], {"+400": 1}, {" 400": 1},
        {"400 ": 1}, {"0400": 1}, {"": 1}, {"99999999999999999999": 1}, {"4294967696": 1}, [[4294967696, 1]])),
        ("reasoning_format", ("none", "auto", "deepseek-legacy", "x", 5, None)),
        ("backend_sampling", (True, 5)), ("grammar_lazy", (True, 5)), ("chat_format", (1, 4, 5, -1, "x")),
        ("generation_prompt", ("x", 5)), ("parse_tool_calls", (True, 5)), ("reasoning_budget_tokens", (-2, "x")),
        ("grammar", ("", 5, None)), ("lora", ([], 5, {}, [{"id": 0, "scale": 2}, {"id": "x", "scale": True}, 5])),
        ("echo", (True, 5)), ("tools", ([5], "x")),
        ("json_schema", (5, "x", [], False)), ("preserved_tokens", ([], 5, {}, [5], ["no token", "<|im_start|>"])),
        ("grammar_triggers", ([], 5, {}, [5], [{}], [{"type": 1}], [{"type": "x"}], [{"type": 1, "value": 5}],
        [{"type": 0, "value": "x"}], [{"type": 0, "value": "x", "token": 5}], [{"type": 1, "value": "some words"}],
        [{"type": 2, "value": "x"}], [{"type": 1, "value": "x"}])),
        ("chat_parser", (5, "", "x", "5", "{}")), ("reasoning_budget_start_tag", ("x", 5)),
        ("response_format", (5, {"type": "x"}, {"type": "json_object"})),
        ("response_fields", (["content"], ["generation_settings/seed", "x"], [], "content", 5, None, [5],
        ["content/x"], ["timings/cache_n"], {})),
        ("stream_options", ({"include_usage": True}, {"include_usage": 5}, 5, None, [], {})),
        ("dry_sequence_breakers", (["x"], [], "x", 5, None, [5], {})),
        ("seed", (0, 5, -1, -5, 4294967295, 4294967296, 1.9)),
        ("unknown", (1, "x", None)),
        ("stop", ("x", ["x"], [], None, 5, [5], [None], [[]], [{}], [True], {}, "", [""], ["x", ""])),
    )  # fmt: skip
    for name, values in fields:
        for value in values:
            c.ask("/completion", {**base, name: value}, leave_out=("content", "tokens"), step=f"{name} {value!r}")


@scenario("special tokens that are to be kept are shown")
def preserved(c: Client) -> None:
    start = {"preserved_tokens": ["<|im_start|>"], "logit_bias": [[1, 1000]]}
    trigger = {"type": 1, "value": "<|im_start|>"}
    more: tuple[dict[str, object], ...] = (
        {"stop": ["im_"]}, {"n_probs": 1}, {"stream": True}, {"grammar_triggers": [trigger]},
    )  # fmt: skip
    for fields in more:
        c.ask("/completion", {"prompt": "A", "n_predict": 2, "temperature": 0, **start, **fields})


@scenario("of two wrong fields one is told")
def both_wrong(c: Client) -> None:
    wrong: dict[str, object] = {
        "verbose": 1, "stream": 1, "n_predict": "x", "n_cmpl": 99, "top_k": "x", "seed": "x", "min_keep": -1,
        "dry_sequence_breakers": [], "grammar_lazy": 5, "reasoning_format": "x", "echo": 5, "ignore_eos": 1,
        "stop": [5], "samplers": [5], "lora": 5, "json_schema": 5, "chat_parser": 5, "preserved_tokens": 5,
        "grammar_triggers": 5,
    }  # fmt: skip
    for one, other in combinations(wrong, 2):
        fields = {one: wrong[one], other: wrong[other]}
        c.ask("/completion", {"prompt": "A", **fields}, step=f"{one}, {other}")


@scenario("of several names for one number the first that has a value counts")
def names(c: Client) -> None:
    for fields in each(
        {"n_predict": None, "max_tokens": 3}, {"max_completion_tokens": None, "max_tokens": 3},
        {"max_tokens": 2, "max_completion_tokens": 5}, {"n_predict": 2, "max_tokens": "x"},
        {"n_probs": None, "logprobs": 1}, {"n_cmpl": None, "n": 2},
    ):  # fmt: skip
        c.ask("/completion", {"prompt": "A slot", "n_predict": 3, "temperature": 0, **fields}, step=f"{fields}")
        c.ask("/v1/completions", {"prompt": "A slot", "temperature": 0, "stop": ["\n"], **fields}, step=f"v1 {fields}")


@scenario("samplers that change what is likely")
def chain(c: Client) -> None:
    for fields in (
        {"repeat_penalty": 1.8}, {"presence_penalty": 2.0, "repeat_last_n": 8}, {"frequency_penalty": 2.0},
        {"dry_multiplier": 4.0, "dry_allowed_length": 1}, {"logit_bias": [["place", -100]]},
        {"samplers": ["top_k"], "top_k": 1},
        {"samplers": ["temperature"]}, {"samplers": ["penalties", "temperature"], "repeat_penalty": 1.5},
        {"temperature": 0.8, "top_k": 1}, {"temperature": 2.0, "top_p": 0.0}, {"temperature": 1.0, "min_p": 1.0},
        {"temperature": 1.0, "top_n_sigma": 0.0001}, {"temperature": -1.0}, {"repeat_penalty": 1.8,
        "repeat_last_n": 0},
        {"dry_multiplier": 4.0, "dry_allowed_length": 1, "dry_penalty_last_n": 4, "dry_base": 3.0},
        {"dry_multiplier": 1.0, "dry_allowed_length": 0}, {"repeat_penalty": 1e-40}, {"repeat_penalty": -1.0},
        {"repeat_penalty": 0.5},
    ):  # fmt: skip
        c.complete("A slot is a place where a slot is a place where a slot is a place", 24, ignore_eos=True, **fields)
    c.complete(tokens(30), 16, repeat_penalty=1.3, repeat_last_n=4, ignore_eos=True)


@scenario("post-sampling probabilities after each sampler")
def after_samplers(c: Client) -> None:
    for fields in each(
        {"samplers": []}, {"samplers": ["top_k"], "top_k": 5}, {"samplers": ["top_p"], "top_p": 0.5},
        {"samplers": ["min_p"], "min_p": 0.2},
        {"samplers": ["typ_p"], "typical_p": 0.5}, {"samplers": ["top_n_sigma"], "top_n_sigma": 1.0},
        {"samplers": ["temperature"], "temperature": 0.5}, {"samplers": ["temperature"], "temperature": 1.0,
        "dynatemp_range": 0.5, "dynatemp_exponent": 2.0},
        {"samplers": ["penalties"], "repeat_penalty": 1.5}, {"samplers": ["top_p"], "top_p": 0.5, "min_keep": 4},
        {"samplers": ["min_p"], "min_p": 0.9, "min_keep": 3}, {"samplers": ["top_k", "top_p", "temperature"],
        "top_k": 8, "top_p": 0.8, "temperature": 1.5},
        {"samplers": ["penalties"], "frequency_penalty": 0.5, "presence_penalty": 0.3},
        {"samplers": ["dry"], "dry_multiplier": 1.0, "dry_allowed_length": 1},
        {"samplers": ["infill"]}, {"samplers": ["top_k", "infill"], "top_k": 4}, {"samplers": "xi", "ignore_eos": True},
        {"samplers": "it", "logit_bias": [[" place", 3], [" p", 3], [" pl", 4]], "ignore_eos": True},
    ):  # fmt: skip
        body = {
            "prompt": "A slot is a place where a slot is a",
            "n_predict": 1,
            "n_probs": 8,
            "post_sampling_probs": True,
            "seed": 1,
            "temperature": 1.0,
        }
        answer = c.fetch("/completion", body | fields)[2]
        c.note(f"{fields}", _top(answer))


def _top(text: str) -> object:
    import json

    first = json.loads(text)["completion_probabilities"][0]
    return [{"id": entry["id"], "prob": entry["prob"]} for entry in first["top_probs"]]
